"""The facts and the rules, executed on a device: `flake8-inplace ops --verify [--device cuda] [--json FILE]`.

Two questions are put to the PyTorch of this environment:

- Does every rule's page say what happens? Its bad program has to raise what the page quotes, or to end with another
  gradient than the good one; the good one has to run.
- Does every row of `ops.json`, most of it measured on the CPU, hold on this device? Each call that the facts were made
  from is made again, and what autograd keeps, what is overwritten and what the outputs alias is held against the row.
  A call is first made on the CPU, and what fails there is not tried elsewhere: a failed assertion inside a CUDA kernel
  ends the process's use of the device.

With `--traced` the second question is put to a build of PyTorch alone: its calls are made of fake tensors (`place`).
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ..rule import PAGES
from ..torchfacts import ops
from ..torchfacts.notation import Op, format_op, parse_op
from .children import in_children
from .device import DeviceMissing, device_of, environment, progress
from .pages import Example, try_rules
from .place import NotMeasured, Place, traced_place
from .rows import as_on, beside, facts_of, same_but_saves

if TYPE_CHECKING:
    from ..torchfacts.execution import Overload
    from .kernels import Choice


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that does not hold on the device. Both rows are in the notation of `ops.parse_op`."""

    names: tuple[str, ...]
    fact: str | None  # None: the table has no such overload; the PyTorch here is another one
    here: str

    def fields(self) -> Iterator[tuple[str, str, str]]:
        """What differs: the field, what the fact says, what was seen here."""
        titles = ("name", "parameters", "saves", "writes", "outputs", "inplace")
        fact, here = ([*row.split("|"), *[""] * 6] for row in (self.fact or "", self.here))
        yield from ((title, a, b) for title, a, b in zip(titles, fact, here, strict=False) if a != b)


@dataclass(frozen=True, slots=True)
class Operators:
    """What became of the rows of operators and modules. torch.sin and Tensor.sin are one row, and count once."""

    held: int
    differences: tuple[Difference, ...]
    only_on_cpu: tuple[str, ...]  # names of overloads of which calls ran on the CPU and none on the device
    no_call: tuple[
        str, ...
    ]  # names of overloads that take tensors and that no call runs; their facts are PyTorch's own
    reasons: dict[str, str] = field(default_factory=dict)  # why, for those that ran on the CPU only
    choices: tuple[Choice, ...] = ()  # kernels that only a device chooses, called directly in a trace

    @property
    def differ(self) -> bool:
        return bool(self.differences) or any(choice.differs for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Measured:
    """An overload of a name: what the facts say, and what its calls showed on the device, None if none of them ran."""

    name: str
    fact: str | None
    here: str | None
    on_cpu: bool = True  # some call ran on the CPU
    reason: str = ""  # why none ran on the device


def try_operators(device: torch.device | Place, only: Collection[str] | None = None) -> Operators:
    """Hold the rows of `ops.json`, or those of some names, against a device or a trace. Raises NotMeasured."""
    try:
        from ..torchfacts import generate  # noqa: F401
    except ImportError as error:
        raise NotMeasured(f"the operators are not verified: what runs them needs {error.name}") from error
    from .kernels import choices

    place = device if isinstance(device, Place) else Place(device)
    names: dict[tuple[str | None, str], list[str]] = {}
    not_run: list[Measured] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in traced_apart(place, only) if place.traced else measured(place, only):
            if row.here is None:
                not_run.append(row)
            else:
                names.setdefault((row.fact, row.here), []).append(row.name)
        direct = tuple(c for c in choices(place) if only is None or c.name in only) if place.traced else ()
    return Operators(
        sum(here == fact for fact, here in names),
        tuple(Difference(tuple(found), fact, here) for (fact, here), found in names.items() if here != fact),
        tuple(row.name for row in not_run if row.on_cpu),
        tuple(row.name for row in not_run if not row.on_cpu),
        {row.name: row.reason for row in not_run if row.on_cpu},
        direct,
    )


def measured(place: Place, only: Collection[str] | None) -> Iterator[Measured]:
    """The rows of operators and modules, measured in a place.

    The conditions of a row were learnt from changed options. In another release, the samples of that release decide
    whether it holds, and options are changed only for the rows that they contradict.
    """
    if torch.__version__.partition("+")[0] != ops.torch_version():
        torch.set_num_threads(
            1
        )  # changed options run in forks of this process, which a pool of threads does not outlive
        doubtful: dict[tuple[str, str | None], Measured] = {}
        for row in measured_operators(place, only, options=False):
            if row.here is None or row.here == row.fact:
                yield row
            else:
                doubtful[row.name, row.fact] = row
        again = measured_operators(place, {name.partition("(")[0] for name, _ in doubtful})
        yield from (row for row in again if (row.name, row.fact) in doubtful)
    else:
        yield from measured_operators(place, only)
    yield from measured_modules(place, only)


def traced_apart(place: Place, only: Collection[str] | None) -> Iterator[Measured]:
    """As `measured`, in children: some of what computes shapes in PyTorch corrupts the memory it runs in."""
    from ..torchfacts import generate, layer_recipes

    modules = [f"torch.nn.{short}" for short in layer_recipes.MODULES]
    every = dict.fromkeys([*(name.partition("(")[0] for name in generate.overload_table()), *modules])
    names = [name for name in every if not name.startswith("torch.ops.aten.") and (only is None or name in only)]

    def work(group: Collection[str]) -> list[Measured]:
        torch.set_num_threads(1)  # a pool of threads does not outlive a fork
        return list(measured(place, group))

    yield from in_children(names, work, lambda name, why: Measured(name, None, None, reason=why))


def measured_operators(place: Place, only: Collection[str] | None, options: bool = True) -> Iterator[Measured]:
    """The overloads that the generator of the facts runs, run in a place.

    Without ``options``, no call is repeated with changed options, and a row that agrees with all calls counts as seen.
    """
    from ..torchfacts import samples
    from ..torchfacts.common import agree
    from ..torchfacts.execution import Overload, measure

    table = overloads_to_measure(only)
    every = {id(o): o for group in table.values() for o in group}
    formulas = {id(o) for o in every.values() if o.exact}
    for o in every.values():
        o.exact = False  # executed too where the fact comes from a formula
    there = every if place.is_reference else {key: Overload(o.op, exact=False) for key, o in every.items()}
    reasons: dict[int, str] = {}
    visited: set[int] = set()
    for group, function, args, kwargs in samples.calls(table):
        visited.update(map(id, group))
        progress(len(visited), len(every), "operators")
        changing = options and formulas.isdisjoint(map(id, group))
        if measure(group, function, args, kwargs, changing) and there is not every:
            twins = [there[id(o)] for o in group]

            def again() -> None:
                measure(twins, function, place.moved(args), place.moved(kwargs), changing)  # noqa: B023

            if reason := place.make(again):
                reasons |= {id(twin): reason for twin in twins if id(twin) not in reasons}
            place.still_there(group[0].op.name)
    for name, group in table.items():
        for o, twin, op in finished(group, [there[id(o)] for o in group]):
            fact, here = beside(op, facts_of(name))
            if not options and fact is not None and same_but_saves(fact, here):
                here = fact if agree(parse_op(fact), twin.runs) else here
            seen = here if twin.runs else None
            yield held_against(place, Measured(name, fact, seen, bool(o.runs), reasons.get(id(twin), "")))


def overloads_to_measure(only: Collection[str] | None) -> dict[str, list[Overload]]:
    """The table of overloads that the generator starts from, for all names or only for these."""
    from ..torchfacts import generate

    # The operators of ATen have the formulas of the public ones, and kernels that do not check what they are given.
    return {
        name: group
        for name, group in generate.overload_table().items()
        if not name.startswith("torch.ops.aten.") and (only is None or name.partition("(")[0] in only)
    }  # torch.nn.functional.dropout comes with torch.nn.functional.dropout(inplace)


def finished(group: list[Overload], twins: list[Overload]) -> Iterator[tuple[Overload, Overload, Op]]:
    """The overloads of a name, each with its twin in the place, and the row that the generator would write for that."""
    from ..torchfacts import generate

    rows = {generate.finish(twin, twins): (o, twin) for o, twin in zip(group, twins, strict=True)}
    for op in generate.distinct(list(rows)):
        if any(p.kind != "other" for p in op.params):
            yield *rows[op], op


def held_against(place: Place, row: Measured) -> Measured:
    """A fact and what was seen, both as rows of a place: there the saves of its device are saves like others."""
    if place.is_reference or row.here is None:
        return row
    kind = place.device.type
    fact = None if row.fact is None else as_on(parse_op(row.fact), (kind, ""))
    here = as_on(parse_op(row.here), ("",))  # the saves with a mark are not of this run
    if place.traced and fact is not None and fact.writes and row.name.rpartition(".")[2].startswith("_foreach_"):
        return replace(row, here=None, reason="a trace counts no versions of what these overwrite")
    return replace(row, fact=None if fact is None else format_op(fact), here=format_op(here))


def measured_modules(place: Place, only: Collection[str] | None) -> Iterator[Measured]:
    """The modules of torch.nn that have a recipe, run in a place."""
    from ..torchfacts import generate, layer_recipes, layers

    known = ops.table()["modules"]
    for done, short in enumerate(layer_recipes.MODULES, 1):
        progress(done, len(layer_recipes.MODULES), "modules")
        name = f"torch.nn.{short}"
        if hasattr(torch.nn, short) and (only is None or name in only):  # an older release lacks some
            made: dict[str, Overload] = {}
            reason = place.make(lambda: made.update(layers.module_overloads(short, str(place.device))))  # noqa: B023
            for form in made or ("op",):
                row = known.get(name, {}).get(form)
                facts = {op.params: op for op in map(parse_op, [row] if row else ())}
                fact, here = beside(generate.finish(made[form]), facts) if form in made else (row, "")
                seen = here if form in made and made[form].runs else None
                said = name if form == "op" else f"{name}({form})"
                yield held_against(place, Measured(said, fact, seen, reason=reason))
            place.still_there(name)


# -- the report


def report(examples: dict[str, Example], operators: Operators | None) -> str:
    """The tables, as text."""
    lines = [f"{'rule':<8}{'bad program':<45}good program"] if examples else []
    for code, example in examples.items():
        mark = "" if example.as_expected else "  <- not as the page says"
        lines.append(f"{code:<8}{example.bad[:43]:<45}{example.good[:43]}{mark}")
    if examples:
        expected = sum(example.as_expected for example in examples.values())
        lines += ["", f"{expected} of {len(examples)} rules: both programs do what the page says"]
    if operators is not None:
        lines += report_operators(operators)
    return "\n".join(lines)


def report_operators(operators: Operators) -> Iterator[str]:
    yield (
        f"{operators.held} rows of operators and modules hold, {len(operators.differences)} differ; "
        f"{len(operators.only_on_cpu)} ran on the CPU only, {len(operators.no_call)} have no call"
    )
    for difference in operators.differences:
        yield from ("", ", ".join(difference.names))
        yield from (f"  {field}: {fact!r} in the facts, {here!r} here" for field, fact, here in difference.fields())
    for choice in operators.choices:
        yield from ("", f"{choice.name}: {choice.reason}; called directly,")
        yield from (f"  {kernel} saves {saves}" for kernel, saves in choice.kernels.items())
        yield from (f"  {save}: not in the facts" for save in choice.not_in_facts)
        yield from (f"  {save}: in the facts, and no kernel saves it" for save in choice.no_kernel)
    if operators.only_on_cpu:
        yield from ("", "ran on the CPU only, so nothing is known of the device:")
    for reason in dict.fromkeys(operators.reasons.values()):
        yield f"  {', '.join(name for name, why in operators.reasons.items() if why == reason)}: {reason or 'unknown'}"


def main(argv: Sequence[str]) -> int:
    """Exit status: 0 all as expected, 1 something differs, 2 wrong usage or no such device."""
    parser = argparse.ArgumentParser(
        prog="flake8-inplace ops --verify", description="Execute the facts and the examples of the rules on a device."
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, ... (default: cpu)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the result to a file, too")
    parser.add_argument("--verify", action="store_true", help="execute them: what it does anyway")
    parser.add_argument("--pages", metavar="FOLDER", type=Path, default=PAGES, help="the pages of the rules")
    parser.add_argument(
        "--facts", metavar="RELEASE", default=torch.__version__, help="those of a release; default: the one installed"
    )
    parser.add_argument("--rules-only", action="store_true", help="leave the operators out, which take a minute")
    parser.add_argument(
        "--traced",
        action="store_true",
        help="ask the CUDA build of PyTorch without a GPU, with tensors that hold no values; leaves the rules out",
    )
    options = parser.parse_args(argv)
    if options.traced and options.rules_only:
        parser.error("a trace has no values, which the rules need: --traced is for the operators")
    try:
        place = traced_place(options.device) if options.traced else Place(device_of(options.device))
    except DeviceMissing as error:
        print(error, file=sys.stderr)
        return 2
    device = place.device
    about = environment(device, "flake8_inplace.runtime.conformance", argv, options.traced)
    print(f"{about['device']} ({about['device_name']}), torch {about['torch']}, Python {about['python']}")
    if ops.torch_version() != torch.__version__.partition("+")[0]:
        print(f"the facts are those of torch {ops.torch_version()}")
    ops.select(options.facts)
    examples: dict[str, Example] = {}
    if options.traced:
        print("traced: no kernel runs, and what the device decides stays unknown")
    elif options.pages.is_dir():
        examples = try_rules(options.pages, device)
    else:
        print(f"the rules are not verified: no pages at {options.pages}")
    operators = None
    failed = False
    if not options.rules_only:
        try:
            operators = try_operators(place)
        except NotMeasured as error:
            print(error)
            failed = True
    print(report(examples, operators))
    if options.json is not None:
        result = {
            **about,
            "traced": options.traced,
            "facts": {"torch": ops.torch_version(), "devices": ops.devices()},
            "rules": {code: {**asdict(e), "as_expected": e.as_expected} for code, e in examples.items()},
            "operators": operators and asdict(operators),
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    differs = any(not e.as_expected for e in examples.values()) or bool(operators and operators.differ)
    return int(failed or differs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
