"""Programs of one operator, for every name of the table of facts: `python -m tests.generated.operators --seed 1`.

Each calls one operator or module on small tensors, overwrites one of its arguments or results, and runs a backward
pass. torch says whether that raises; the linter has to say the same. The calls are those of op_db, and with `--varied`
the same calls with one option changed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from flake8_inplace.torchfacts import (
    execution,
    layer_recipes,
    layers,
    modules,
    ops,
    samples,
    schemas,
    variations,
)
from flake8_inplace.torchfacts.notation import Op, Param

from . import oracle
from .compare import compare

MOST = 1200  # elements of a tensor that is written out
UNCHECKED = ("torch.ops.aten._", "torch.ops.aten.slow_conv")  # kernels that crash where an option makes no sense
CHANGES = 4  # of a call at most
DRAWS = 3  # programs that are made of one call: of another argument that requires grad, another tensor that is written
HEADER = "import torch\nimport torch.masked\nimport torch.nn.functional as F\nfrom torch import nn\n\ndef program():\n"


WRITE = "  # the write"


class Unwritable(ValueError):
    """A call that has no short text."""


def literal(value: Any) -> str:
    """An argument that is no tensor, as text."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(literal, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f"float('{value}')"
    if value is None or isinstance(value, (bool, int, str, torch.dtype)):
        return repr(value)
    if isinstance(value, slice):
        return f"slice({value.start!r}, {value.stop!r}, {value.step!r})"
    raise Unwritable(type(value).__name__)


def tensor(value: torch.Tensor) -> str:
    if value.layout != torch.strided or value.numel() > MOST or value.is_quantized or not value.numel():
        raise Unwritable("tensor")
    values = value.tolist()
    text = repr(values).replace("nan", "float('nan')").replace("inf", "float('inf')")
    return f"torch.tensor({text}, dtype={value.dtype})"


class Writer:
    """The text of one call: each tensor a variable of its own, those of one parameter made from leaves."""

    def __init__(self, requiring: Sequence[torch.Tensor]) -> None:
        self.requiring = {id(t) for t in requiring}
        self.lines: list[str] = []
        self.names: dict[int, str] = {}

    def write(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return self.variable(value)
        if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            inner = ", ".join(map(self.write, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
        return literal(value)

    def variable(self, value: torch.Tensor) -> str:
        if id(value) in self.names:
            raise Unwritable("the same tensor twice")
        name = self.names[id(value)] = f"x{len(self.names)}"
        if id(value) in self.requiring:
            self.lines += [f"w{name[1:]} = {tensor(value)}.requires_grad_()", f"{name} = w{name[1:]} * 1"]
        else:
            self.lines.append(f"{name} = {tensor(value)}")
        return name


def programs_of(
    name: str, op: Op, args: Sequence[Any], kwargs: dict[str, Any], rng: random.Random, built: str = ""
) -> Iterator[str]:
    """A program for one parameter that requires grad and one tensor that is overwritten, at random."""
    bound = execution.bind(op, args, dict(kwargs.items()))
    if bound is None:
        return
    held = {p: found for p, v in bound.items() if (found := execution.tensors_in(v))}
    own = [p.name for p in op.params if p.name.startswith("self.")]
    floats = [p for p, found in held.items() if any(map(execution.is_float, found)) and p not in own]
    if not floats and not own:
        return
    requires = rng.choice(floats) if floats else None
    slots = [p for p in held if p not in op.writes and p not in own]
    slots += [f"result{i or ''}" for i in range(len(op.outs))] * 2
    if not slots:
        return
    slot = rng.choice(slots)
    requiring = [t for t in held.get(requires, ()) if execution.is_float(t)] if requires else []
    writer = Writer(requiring)
    try:
        text = call_text(name, writer, args, kwargs, built)
        lines = [*writer.lines, *([f"layer = {built}"] if built else []), *text]
        targets = [writer.names[id(t)] for t in held[slot]] if slot in held else [output(op, slot)]
    except (Unwritable, KeyError):
        return
    target = targets[0]
    ways = ("{}.zero_()", "{}.mul_(2)", "{}[...] = 0", "{} *= 2")
    write = rng.choice(ways[:3] if target.endswith("]") else ways).format(target)  # a tuple takes no `y[0] *= 2`
    lines.append(write + WRITE)
    lines += backward(op, writer)
    yield HEADER + "".join(f"    {line}\n" for line in lines)


def drawn(
    name: str, op: Op, args: Sequence[Any], kwargs: dict[str, Any], rng: random.Random, built: str = ""
) -> list[str]:
    """Different programs of one call."""
    made = (source for _ in range(DRAWS) for source in programs_of(name, op, args, kwargs, rng, built))
    return list(dict.fromkeys(made))


def output(op: Op, slot: str) -> str:
    index = int(slot[6:] or 0)
    name = "y" if len(op.outs) == 1 else f"y[{index}]"
    return f"{name}[0]" if op.outs[index].many else name


def backward(op: Op, writer: Writer) -> Iterator[str]:
    """Lines that run the backward pass from what the operator returned, or else from what it was given."""
    parts = [output(op, f"result{i or ''}") for i, out in enumerate(op.outs) if out.differentiable]
    parts = parts or [name for key, name in writer.names.items() if key in writer.requiring] or ["y"]
    yield f"({' + '.join(f'{part}.abs().sum()' for part in parts)}).backward()"


def call_text(name: str, writer: Writer, args: Sequence[Any], kwargs: dict[str, Any], built: str) -> list[str]:
    """Statements that call the operator, and name what it returns `y`."""
    given = [writer.write(a) for a in args]
    named = [f"{k}={writer.write(v)}" for k, v in kwargs.items() if not k.startswith("self.")]
    if built:
        return [f"y = layer({', '.join([*given, *named])})"]
    if name.startswith("Tensor."):
        method = name.removeprefix("Tensor.")
        if method.startswith("__"):
            return operator_text(method, given)
        call = callable(getattr(torch.Tensor, method))
        return [f"y = {given[0]}.{method}" + (f"({', '.join([*given[1:], *named])})" if call else "")]
    if name.endswith("(inplace)"):
        name, named = name.removesuffix("(inplace)"), [*named, "inplace=True"]
    return [f"y = {name}({', '.join([*given, *named])})"]


NAMES = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift eq ne lt le gt ge"
SYMBOLS = dict(zip(NAMES.split(), "+ - * / // % ** @ & | ^ << >> == != < <= > >=".split(), strict=True))
UNARY = {"abs": "abs({})", "neg": "-{}", "pos": "+{}", "invert": "~{}"}


def operator_text(method: str, given: Sequence[str]) -> list[str]:
    """An operator of Python as programs write it."""
    word = method.strip("_")
    if word in SYMBOLS and len(given) == 2:
        return [f"y = {given[0]} {SYMBOLS[word]} {given[1]}"]
    if word[0] == "r" and word[1:] in SYMBOLS and len(given) == 2:
        return [f"y = {given[1]} {SYMBOLS[word[1:]]} {given[0]}"]
    if word[0] == "i" and word[1:] in SYMBOLS and len(given) == 2:
        return [f"y = {given[0]}", f"y {SYMBOLS[word[1:]]}= {given[1]}"]
    if word in UNARY:
        return [f"y = {UNARY[word].format(given[0])}"]
    if word == "getitem":
        return [f"y = {given[0]}[{given[1]}]"]
    if word == "setitem":
        return [f"y = {given[0]}", f"y[{given[1]}] = {given[2]}"]
    raise Unwritable(method)


def operator_calls(seed: int, only: str) -> Iterator[tuple[str, Sequence[Any], dict[str, Any]]]:
    """Calls for every name of the table of operators that contains a text."""
    names = frozenset(name for name in ops.names() if only in name)
    reached: set[str] = set()
    for found, calls in samples.samples(names):
        chosen = random.Random(seed).sample(calls, min(len(calls), 12))
        for name in found:
            reached.add(name)
            for args, kwargs in chosen:
                yield name, args, kwargs
                if f"{name}(inplace)" in names:
                    yield f"{name}(inplace)", args, kwargs
    for name in sorted(names - reached):
        if not name.endswith("(inplace)"):
            for op in ops.lookup(name):
                for args, kwargs in samples.improvised_calls(op):
                    yield name, args, kwargs


def operator_programs(seed: int, varied: bool, each: int, only: str = "") -> Iterator[tuple[str, str]]:
    """Name and text of programs for the names of the table."""
    kept: dict[str, int] = {}
    for number, (name, args, kwargs) in enumerate(operator_calls(seed, only)):
        rng = random.Random(f"{seed}:{name}:{number}")
        function = schemas.callable_for(name.removesuffix("(inplace)"))
        kwargs = samples.given(name, kwargs)
        op = next((op for op in ops.lookup(name) if execution.bind(op, args, kwargs) is not None), None)
        if op is None or kept.get(name, 0) >= each or "torch.nn.init" in name:
            continue
        ways = [("", tuple(args), dict(kwargs))]
        if varied:
            if name.startswith(UNCHECKED):
                continue
            ways = list(changed(op, args, dict(kwargs), function, rng))
        for _, given, options in ways:
            for source in drawn(name, op, given, options, rng):
                kept[name] = kept.get(name, 0) + 1
                yield name, source


def changed(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any], function: Callable[..., Any], rng: random.Random
) -> Iterator[variations.Variation]:
    """Some calls with one option changed, at random; each option has an equal share of them.

    Most values are none that the option takes, so each call is made first.
    """
    ways = defaultdict[str, list[variations.Variation]](list)
    for way in variations.variations(op, args, kwargs, function):
        ways[way[0]].append(way)
    for option in rng.sample(sorted(ways), min(CHANGES, len(ways))):
        rng.shuffle(ways[option])
        taken = (way for way in ways[option] if takes(op, function, *way[1:]))
        yield from itertools.islice(taken, CHANGES // min(CHANGES, len(ways)))


def takes(op: Op, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a call runs, with all tensors that may require grad."""
    bound = execution.bind(op, args, kwargs)
    return bound is not None and execution.execute(function, args, kwargs, bound, None, False) is not None


def module_programs(seed: int, varied: bool, each: int, only: str = "") -> Iterator[tuple[str, str]]:
    """Name and text of programs for the layers of torch.nn."""
    for short, recipe in layer_recipes.MODULES.items():
        fact = modules.lookup(f"torch.nn.{short}")
        if only not in f"torch.nn.{short}" or fact is None or len(fact.parameters) > layers.MOST_PARAMETERS:
            continue
        rng = random.Random(f"{seed}:{short}")
        defaults = layers.constructor_defaults(short)
        given = {**dict(zip(defaults, recipe.args, strict=False)), **recipe.kwargs}
        ways = [given] * each
        if varied:
            cls = getattr(torch.nn, short)
            ways = [
                {**given, option: value}
                for option, default in defaults.items()
                if layers.is_constant(default) and option != "inplace"
                for value in variations.candidates(Param(option, "other", True), given.get(option, default), cls)
            ]
            rng.shuffle(ways)
        for options in ways[: each * 2]:
            try:
                built = f"nn.{short}({', '.join(f'{k}={literal(v)}' for k, v in options.items())})"
            except Unwritable:
                continue
            for args, kwargs in recipe.calls():
                if varied and not builds(short, options, args, kwargs):
                    continue
                op = fact.indices if options.get("return_indices") and fact.indices else fact.op
                lenient = (replace(p, optional=p.optional or p.name.startswith("self.")) for p in op.params)
                op = replace(op, params=tuple(lenient))
                for source in drawn(f"nn.{short}", op, args, kwargs, rng, built):
                    yield f"nn.{short}", source


def builds(name: str, options: dict[str, Any], args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a layer takes these options, and then runs."""
    try:
        layers.built(name, options)(*args, **kwargs)
    except Exception:  # of any kind: it does not take this value
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare linter and torch on programs of every operator.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=4, help="programs of each name")
    parser.add_argument("--varied", action="store_true", help="change one option of each call")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--show", type=int, default=0, help="print so many of the programs that they disagree on")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    started = time.perf_counter()
    tallies, wrong, shown = defaultdict[str, Counter[str]](Counter), Counter[tuple[str, str]](), 0
    names: set[str] = set()
    for make in (operator_programs, module_programs):
        for name, source in make(args.seed, args.varied, args.each, args.only):
            compared = compare(source)
            outcome = compared.verdict.outcome
            if outcome == "saved" and compared.kind != "agree" and raises_anyway(source):
                tallies[family(name)]["raises without the write"] += 1
                continue
            if outcome != "error":
                names.add(name)
            tallies[family(name)][f"{outcome}, {compared.kind}"] += 1
            if outcome != "error" and compared.kind != "agree":
                wrong[name, compared.kind] += 1
                if shown < args.show:
                    shown += 1
                    print(f"# {name}: {compared.kind} {compared.flagged} {compared.note}\n{source}", flush=True)
    total = sum(tallies.values(), Counter())
    print(f"{len(names)} names, {total.total()} programs in {time.perf_counter() - started:.0f} s, {dict(total)}")
    print("| family | raising | flagged | refused | flagged | clean | flagged |\n|---|---|---|---|---|---|---|")
    for title, tally in [*sorted(tallies.items()), ("all", total)]:
        print(row(title, tally))
    for (name, kind), count in sorted(wrong.items(), key=lambda item: (item[0][1], -item[1], item[0])):
        print(f"{count:4} {kind}: {name}")


def raises_anyway(source: str) -> bool:
    """Whether an operator cannot be differentiated at all: what it made on the way, it overwrote (`torch.vander`)."""
    lines = [line for line in source.splitlines() if not line.endswith(WRITE)]
    return oracle.judge("\n".join(lines)).outcome == "saved"


def family(name: str) -> str:
    """The namespace of an operator; list operators apart."""
    return "torch._foreach_*" if "_foreach_" in name else name.rpartition(".")[0]


def row(title: str, tally: Counter[str]) -> str:
    """A row of the table: how many programs raise, are refused, or run clean, and how many of these are flagged."""
    cells = [title]
    for outcome, flagged in (("saved", "agree"), ("refused", "agree"), ("clean", "false alarm")):
        count, found = sum(n for key, n in tally.items() if key.startswith(outcome)), tally[f"{outcome}, {flagged}"]
        cells += [str(count), f"{found} ({100 * found / count:.2f} %)" if count else "0"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
