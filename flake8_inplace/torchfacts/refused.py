"""Running in-place operators on memory that PyTorch may refuse to overwrite. Development only.

Each call that overwrites its first operand, or that takes ``out=``, is made once more on expanded memory, with operands
in the memory that it overwrites, and on a tensor that requires grad. `Observations.words`
says what is noted.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from .execution import Overload, bind, is_float, tensors_in
from .handwritten import FILLING, ROWS
from .notation import parse_op

ENOUGH = 12
"""Calls of one operator that are tried; they differ in shapes, and few of them matter here."""
_ONE_LOCATION = "single memory location"
_SLOPE = -0.1
"""A negative number for options of activation functions."""

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


@dataclass
class Observations:
    """What calls did, by the kind of observation and the operator, or the operator and an operand."""

    seen: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    tried: dict[tuple[int, Callable[..., Any]], int] = field(default_factory=lambda: defaultdict(int))
    """Calls of an overload, by the function that was called: a method takes no ``out=`` where the function does."""

    def observe(self, overloads: Sequence[Overload], function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Try a call, if it overwrites its first operand, or may be given ``out=``."""
        found = ((o, bound) for o in overloads if (bound := bind(o.op, args, kwargs)) is not None)
        overload, bound = next(found, (None, {}))
        if overload is None or not overload.op.params or self.tried[id(overload), function] >= ENOUGH:
            return
        name = overload.op.name
        self.tried[id(overload), function] += 1
        first = bound.get(overload.op.params[0].name)
        if not isinstance(first, torch.Tensor) or first.numel() < 2 or first.layout is not torch.strided:
            return
        call = (function, tuple(args), dict(kwargs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if overload.op.params[0].name in overload.op.writes or _overwrites(call, first):
                self._in_place(name, call, bound, first)
            elif _takes_out(call):
                self._into_out(name, call, bound)

    def _in_place(self, name: str, call: Call, bound: dict[str, Any], first: torch.Tensor) -> None:
        self._note("expanded", name, _on_expanded(call, first))
        if is_float(first):
            self._note("expanded result", name, _on_expanded_result(call, first))
        self._note("shape", name, _on_shape(call, first))
        for param, operand in bound.items():
            if isinstance(operand, torch.Tensor) and operand is not first:
                for kind in ("same", "part"):
                    self._note(kind, f"{name}:{param}", _with_alias(call, first, operand, kind == "part"))
        if is_float(first):
            self._note("derivative", name, _derivative(call, first))
            self._slopes(name, call, first)

    def _into_out(self, name: str, call: Call, bound: dict[str, Any]) -> None:
        function, args, kwargs = call
        result = function(*args, **kwargs)
        self._note("out", name, _outcome((function, args, {**kwargs, "out": _expanded(result.detach())})))
        for param, operand in bound.items():
            if isinstance(operand, torch.Tensor):
                out = torch.empty_like(result)
                given = (function, args, {**kwargs, "out": out})
                self._note("out part", f"{name}:{param}", _with_alias(given, out, operand, True))

    def _slopes(self, name: str, call: Call, first: torch.Tensor) -> None:
        options = [p for p in ("negative_slope", "alpha", "lower", "upper") if _accepts(call, first, p)]
        for chosen in [*((option,) for option in options), tuple(options)]:
            given = _replaced(call, {first: _computed(first)}, first, dict.fromkeys(chosen, _SLOPE))
            if chosen and _backward(given) == "in-place":
                self._note("negative", f"{name}:{'+'.join(chosen)}", "refused")

    def observe_layer(self, name: str, make: Callable[..., Any], options: Sequence[str]) -> None:
        """Try a layer that works in place with a negative option."""
        for option in options:
            try:
                layer = make(inplace=True, **{option: _SLOPE})
            except (TypeError, ValueError):
                continue
            if _backward((layer, (_computed(torch.rand(3, 3) - 0.5),), {})) == "in-place":
                self._note("negative", f"{name}:init.{option}", "refused")

    def _note(self, kind: str, key: str, outcome: str) -> None:
        if outcome:
            self.seen[kind][key].append(outcome)

    def words(self) -> dict[str, str]:
        """The operators of each kind of which every call had the same outcome, as `refusals` reads them."""

        def every(kind: str, *outcomes: str) -> str:
            return " ".join(sorted(key for key, found in self.seen[kind].items() if set(found) <= set(outcomes)))

        spoiled = sorted(key for key, found in self.seen["expanded"].items() if "spoiled" in found)
        shapes = {key: found for key, found in self.seen["shape"].items() if "written" not in found}
        same = {key for key, found in self.seen["same"].items() if "done" in found}
        overlap = [key for key in every("part", "refused").split() if key not in same]
        return {
            "harmless_to_expanded": every("expanded", "harmless"),
            "spoils_expanded": " ".join(spoiled),
            "backward_refuses_expanded": every("expanded result", "refused"),
            "reshapes": " ".join(sorted(key for key, found in shapes.items() if "reshaped" in found)),
            "refuses_overlap": " ".join(overlap),
            "out_refuses_expanded": every("out", "refused"),
            "out_refuses_overlap": every("out part", "refused"),
            "refuses_grad": every("derivative", "grad"),
            "without_derivative": every("derivative", "backward"),
            "refuses_negative": every("negative", "refused"),
        }


def extra_calls() -> Iterator[tuple[list[Overload], Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    """Calls of in-place functions that have no samples, since their rows are written by hand."""
    calls: dict[str, tuple[Any, ...]] = {
        "set_": (torch.ones(3, 3),),
        "apply_": (float,),
        "map_": (torch.ones(3, 3), lambda one, other: one),
        "map2_": (torch.ones(3, 3), torch.ones(3, 3), lambda one, *others: one),
    }
    for name, args in calls.items():
        overloads = [Overload(replace(parse_op(row), writes=("self",)), True) for row in ROWS[f"Tensor.{name}"]]
        yield overloads, getattr(torch.Tensor, name), (torch.ones(3, 3), *args), {}
    for name, args in FILLING.items():
        row = parse_op(ROWS[f"torch.nn.init.{name}"][0])
        yield [Overload(row, True)], getattr(torch.nn.init, name), (torch.ones(3, 3), *args), {}


def _replaced(
    call: Call, by: dict[torch.Tensor, torch.Tensor], first: Any = None, options: dict[str, Any] | None = None
) -> Call:
    """The same call on copies of its tensors, but on the given ones in the place of some; with ``options`` alone."""
    function, args, kwargs = call
    copies = {id(old): new for old, new in by.items()}

    def swap(leaf: Any) -> Any:
        return copies.get(id(leaf), leaf.detach().clone()) if isinstance(leaf, torch.Tensor) else leaf

    if options is not None:
        kept = {key: value for key, value in kwargs.items() if key == "inplace"}
        return function, (tree_map(swap, first),), {**kept, **options}
    return function, tree_map(swap, args), tree_map(swap, kwargs)


def _outcome(call: Call) -> str:
    """Whether a call is refused, done, or fails for another reason (an empty string)."""
    function, args, kwargs = call
    torch.manual_seed(0)
    try:
        function(*args, **kwargs)
    except Exception as error:  # of any kind: what a call on odd memory raises is all there is to learn of it
        return "refused" if _ONE_LOCATION in str(error) else ""
    return "done"


def _overwrites(call: Call, first: torch.Tensor) -> bool:
    copy = first.detach().clone()
    return _outcome(_replaced(call, {first: copy})) == "done" and copy._version > 0


def _takes_out(call: Call) -> bool:
    function, args, kwargs = call
    try:
        result = function(*args, **kwargs)
        out = torch.empty_like(result)
        takes = function(*args, **kwargs, out=out) is out
    except Exception:  # of any kind: it has no ``out``, or returns something else than one tensor
        return False
    return takes and result.numel() > 1 and result.dim() > 0


def _expanded(tensor: torch.Tensor) -> torch.Tensor:
    """One element that stands for all; there is more memory behind it, since some kernels trust the shape."""
    memory = tensor.reshape(-1).repeat(2)
    return memory[:1].expand(tensor.shape)


def _on_expanded(call: Call, first: torch.Tensor) -> str:
    """What a call does to expanded memory: it is refused, does what it does to a copy, or spoils other elements."""
    shared = _expanded(first.detach())
    copy = shared.clone()
    if _outcome(_replaced(call, {first: copy})) != "done":
        return ""
    outcome = _outcome(_replaced(call, {first: shared}))
    if outcome != "done":
        return outcome
    same = shared.shape == copy.shape and torch.allclose(shared, copy, equal_nan=True)
    return "harmless" if same else "spoiled"


def _on_expanded_result(call: Call, first: torch.Tensor) -> str:
    """Whether the backward refuses what a call did to expanded memory, which it may overwrite."""
    shared = _expanded(_computed(first))
    if _outcome(_replaced(call, {first: shared})) != "done":
        return ""
    return _outcome((shared.sum().abs().backward, (), {}))


def _on_shape(call: Call, first: torch.Tensor) -> str:
    """Whether a call writes to the memory of a tensor, or gives the tensor another shape alone."""
    copy = first.detach().clone()
    memory, shape, stride = copy.view(-1), copy.shape, copy.stride()
    before = memory.clone()
    if _outcome(_replaced(call, {first: copy})) != "done":
        return ""
    if not torch.equal(memory.nan_to_num(), before.nan_to_num()) or copy.data_ptr() != memory.data_ptr():
        return "written"
    return "reshaped" if (copy.shape, copy.stride()) != (shape, stride) else "same"


def _with_alias(call: Call, first: torch.Tensor, operand: torch.Tensor, shifted: bool) -> str:
    """What a call does with an operand in the memory that it overwrites, the same elements or shifted ones."""
    count, size = operand.numel(), first.numel()
    if count > size or count == 0 or (not shifted and operand.shape != first.shape):
        return ""
    memory = torch.zeros(size + 1, dtype=operand.dtype)
    start = int(shifted)
    if is_float(operand):
        memory[start : start + count] = operand.detach().reshape(-1)
    target, alias = memory[:size].view(first.shape), memory[start : start + count].view(operand.shape)
    others = [leaf for leaf in tensors_in([call[1], call[2]]) if leaf is not first and leaf is not operand]
    casts = {leaf: leaf.to(operand.dtype) for leaf in others if leaf.dtype == first.dtype}
    if not is_float(operand):  # an index that is overwritten while it is read has to stay one: zero
        casts = {leaf: torch.zeros_like(casts.get(leaf, leaf)) for leaf in others}
    if _outcome(_replaced(call, {first: target.clone(), operand: alias.clone(), **casts})) != "done":
        return ""
    return _outcome(_replaced(call, {first: target, operand: alias if shifted else target, **casts}))


def _computed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_() * 1


def _derivative(call: Call, first: torch.Tensor) -> str:
    """Whether a call has a derivative, is refused for want of one, or its backward is."""
    function, args, kwargs = call
    outcome = _backward(_replaced(call, {first: _computed(first)}))
    if outcome not in ("grad", "backward"):
        return outcome
    name = getattr(function, "__name__", "")
    plain = getattr(torch.Tensor, name.replace("__i", "__") if name.endswith("__") else name.removesuffix("_"), None)
    if plain not in (None, function):
        bare = _backward(_replaced((plain, args, kwargs), {first: _computed(first)}))
        return "other" if bare == outcome else outcome
    return outcome


def _backward(call: Call) -> str:
    function, args, kwargs = call
    torch.manual_seed(0)
    try:
        result = function(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:
        lacking = any(word in str(error) for word in ("derivative", "require grad", "requires grad"))
        return "grad" if lacking else ""
    except Exception:  # of any kind: the call is not meant so
        return ""
    try:
        for tensor in tensors_in(result):
            if tensor.requires_grad:
                tensor.sum().abs().backward()
    except (RuntimeError, NotImplementedError) as error:
        if "In-place" in str(error):
            return "in-place"
        return "backward" if "derivative" in str(error) else ""
    return "done"


def _accepts(call: Call, first: torch.Tensor, option: str) -> bool:
    return _outcome(_replaced(call, {first: first.clone()}, first, {option: 0.2})) == "done"
