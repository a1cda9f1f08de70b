"""The kernels between which the device chooses, called directly: a trace shows what each saves, not which one runs.

A kernel is called through a function of the parameters that the public name has, so that what it saves is told in the
words of the facts. A fact holds if it names all that any of the kernels saves, and nothing that none of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..torchfacts.common import could_save, measured_saves
from ..torchfacts.execution import Overload, Run, bind, run_each
from ..torchfacts.notation import Op, format_save, parse_op
from ..torchfacts.ops import lookup, table
from .place import CHOICES, Place

aten = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Choice:
    """A name whose kernel the device chooses: what each kernel saves, in the notation of `ops.parse_op`."""

    name: str
    reason: str
    kernels: dict[str, str]
    not_in_facts: tuple[str, ...]  # some kernel saves it, and the fact does not say so
    no_kernel: tuple[str, ...]  # the fact gives it to this device, and no kernel saves it

    @property
    def differs(self) -> bool:
        return bool(self.not_in_facts or self.no_kernel)


Call = tuple[tuple[Any, ...], dict[str, Any]]


def flash(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float = 0.0, is_causal: bool = False
) -> Any:
    return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal)[0]


def masked(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """One of the kernels of attention that take a mask."""

    def run(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
    ) -> Any:
        return kernel(query, key, value, attn_mask, True, dropout_p)[0]

    return run


def recurrent(mode: int) -> Callable[..., Any]:
    """cuDNN's layer of one direction: 1 a plain one with tanh, 2 LSTM, 3 GRU."""

    def run(input: torch.Tensor, hx: Any = None, **weights: torch.Tensor) -> Any:
        size = weights["self.weight_hh_l0"].shape[1]
        states = hx if isinstance(hx, tuple) else [input.new_zeros(1, input.shape[1], size) if hx is None else hx]
        cell = states[1] if len(states) > 1 else input.new_zeros(1, input.shape[1], size) if mode == 2 else None
        layout: tuple[Any, ...] = (mode, size, 0, 1, False, 0.0, True, False, [], None)
        out, h, c, *_ = torch._cudnn_rnn(input, list(weights.values()), 4, None, states[0], cell, *layout)
        return (out, (h, c)) if mode == 2 else (out, h)

    return run


def attention_calls() -> list[Call]:
    def make(*shape: int) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float16)

    args = tuple(make(2, 4, 16, 64) for _ in range(3))
    given: list[dict[str, Any]] = [{}, {"attn_mask": make(2, 4, 16, 16)}]
    return [(args, {**mask, **rate}) for mask in given for rate in ({}, {"dropout_p": 0.1})]


def recurrent_calls(gates: int) -> Callable[[], list[Call]]:
    def calls() -> list[Call]:
        held = {"weight_ih_l0": (4,), "weight_hh_l0": (3,), "bias_ih_l0": (), "bias_hh_l0": ()}
        weights = {f"self.{name}": torch.zeros(gates * 3, *rest) for name, rest in held.items()}
        state = torch.zeros(1, 2, 3)
        hx = (state, state.clone()) if gates == 4 else state
        return [((torch.zeros(5, 2, 4),), weights), ((torch.zeros(5, 2, 4), hx), weights)]

    return calls


Kernels = dict[str, Callable[..., Any]]
KERNELS: dict[str, tuple[str, Kernels, Callable[[], list[Call]]]] = {
    "torch.nn.functional.scaled_dot_product_attention": (
        "scaled_dot_product_attention",
        {
            "_scaled_dot_product_flash_attention": flash,
            "_scaled_dot_product_efficient_attention": masked(aten._scaled_dot_product_efficient_attention),
            "_scaled_dot_product_cudnn_attention": masked(aten._scaled_dot_product_cudnn_attention),
        },
        attention_calls,
    ),
    "torch.nn.RNN": ("rnn_tanh", {"_cudnn_rnn": recurrent(1)}, recurrent_calls(1)),
    "torch.nn.LSTM": ("lstm", {"_cudnn_rnn": recurrent(2)}, recurrent_calls(4)),
    "torch.nn.GRU": ("gru", {"_cudnn_rnn": recurrent(3)}, recurrent_calls(3)),
}
"""By public name: the function that asks the device, the kernels behind it, and calls of the public name."""


def choices(place: Place) -> Iterator[Choice]:
    """Call every kernel in a place."""
    for name, (function, kernels, calls) in KERNELS.items():
        fact = fact_of(name)
        runs = {kernel: run_kernel(place, fact, call, calls()) for kernel, call in kernels.items()}
        unstated: set[str] = set()
        unseen: set[str] = set()
        for alike in same_calls(runs.values()):
            seen = {slot for run in alike for slot in run.saved}
            unstated |= {
                f"{slot}<{alike[0].requires}" for slot in seen - stated(fact, alike[0], ("", place.device.type))
            }
            unseen |= {f"{slot}<{alike[0].requires}" for slot in stated(fact, alike[0], (place.device.type,)) - seen}
        saves = {kernel: " ".join(map(format_save, measured_saves(fact, found))) for kernel, found in runs.items()}
        yield Choice(name, CHOICES[function], saves, tuple(sorted(unstated)), tuple(sorted(unseen)))


def fact_of(name: str) -> Op:
    known = table()["modules"]
    return parse_op(known[name]["op"]) if name in known else lookup(name)[0]


def run_kernel(place: Place, fact: Op, kernel: Callable[..., Any], calls: Sequence[Call]) -> list[Run]:
    """The runs of the calls that a kernel takes."""
    found: list[Run] = []

    def run() -> None:
        for number, (args, kwargs) in enumerate(calls):
            params = tuple(p for p in fact.params if not p.name.startswith("self.") or p.name in kwargs)
            overload = Overload(replace(fact, params=params), exact=False, calls=number)
            args, kwargs = place.moved(args), place.moved(kwargs)
            bound = bind(overload.op, args, kwargs)
            if bound is not None:
                found.extend(run_each(overload, kernel, args, kwargs, bound))

    place.make(run)
    return found


def same_calls(runs: Iterable[Sequence[Run]]) -> Iterable[list[Run]]:
    """The runs of one call, by whichever kernel."""
    groups: dict[tuple[str | None, int], list[Run]] = {}
    for found in runs:
        for run in found:
            groups.setdefault((run.requires, run.base), []).append(run)
    return groups.values()


def stated(fact: Op, run: Run, devices: Collection[str]) -> set[str]:
    """What a run saves by the fact, as far as it speaks of these devices."""
    return {
        save.slot
        for save in fact.saves
        if save.device in devices
        and run.requires in save.needs
        and could_save(run, save.slot)
        and all(condition.holds(run.options.get(condition.option)) for condition in save.when)
    }
