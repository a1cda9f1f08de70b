"""Iterators of Python: ``zip``, ``enumerate`` and those of ``itertools``. They are read as lists."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..heap.values import NONE, Const, List, Slice, Tuple, Unknown, Value, constant
from ..trace import events
from . import lazy
from .containers import sliced
from .iteration import ELEMENTS, ZIPPED, another, counter, elements, iterator, lengths
from .registry import Call, builtin, model, package

Column = tuple[list[Value], bool]
"""What iteration over one argument yields, and whether that is all of it."""


def _columns(call: Call) -> tuple[list[Column], bool]:
    """What iteration over each argument yields, and whether that is all."""
    call.args = [iterator(call.m, arg, call.site) for arg in call.args]
    lazy.read(call.m, *call.args)
    columns = [elements(call.m, arg) for arg in call.args]
    return columns, all(done for _, done in columns)


@builtin("zip")
def _zip(call: Call) -> Value:
    call.args = [iterator(call.m, arg, call.site) for arg in call.args]
    beside = _beside_generator(call)
    if beside is not None:
        return beside
    made = _side_by_side(call)
    call.m.state.set(call.m.state[ZIPPED], made, tuple(map(call.m.see, call.args)))
    return made


def _beside_generator(call: Call) -> Value | None:
    """Return a generator of the rows if one argument is a generator, which goes on when the next row is asked for."""
    m, bodies = call.m, [lazy.suspended(call.m, arg) for arg in call.args]
    at = next((index for index, body in enumerate(bodies) if body is not None), -1)
    if len(bodies) - bodies.count(None) != 1 or (body := bodies[at]) is None:
        return None
    others = [*call.args[:at], *call.args[at + 1 :]]
    lazy.read(m, *others)
    columns = [elements(m, other) for other in others]
    if any(len(items) < 2 for items, _ in columns):  # the loop may end before the second value of the generator
        return None

    def rows(resume: Callable[[Value], None], once: bool) -> None:
        count = itertools.count()

        def beside(value: Value) -> None:
            row = next(count)
            if all(row < len(items) or not done for items, done in columns):
                parts = [items[row] if row < len(items) else another(m, items[-1]) for items, _ in columns]
                resume(Tuple((*parts[:at], value, *parts[at:])))

        body(beside, once)

    return lazy.generator(m, rows, call.args)


@model("itertools.zip_longest")
def _side_by_side(call: Call) -> List:
    columns, _ = _columns(call)
    return _rounds(call, [Tuple(row) for row in _rows(columns)], columns)


@builtin("enumerate")
def _enumerate(call: Call) -> Value:
    source = iterator(call.m, call.argument(0, "iterable", Unknown()), call.site)
    body = lazy.suspended(call.m, source)
    if body is not None:
        return _numbered(call, body)
    lazy.read(call.m, source)
    columns = [elements(call.m, source)]
    exact = columns[0][1]
    ends = lengths(call.m, source) if len(call.values) == 1 else []
    rows: list[Value] = []
    for number, row in enumerate(_rows(columns)):
        first: Value = Const(number) if exact or number == 0 else counter(call.m, *ends)
        rows.append(Tuple((first, *row)))
    return _rounds(call, rows, columns)


def _numbered(call: Call, body: lazy.Body) -> Value:
    """Return the generator that numbers what a generator yields."""

    def numbers(resume: Callable[[Value], None], once: bool) -> None:
        first: list[Value] = [] if len(call.values) > 1 else [Const(0)]

        def number(value: Value) -> None:
            resume(Tuple((first.pop() if first else Unknown(scalar=True), value)))

        body(number, once)

    return lazy.generator(call.m, numbers, call.values)


def _rows(columns: list[Column]) -> list[tuple[Value, ...]]:
    """The elements of several columns side by side; of columns of unknown length, two rows."""
    if not columns:
        return []
    count = min((len(items) for items, done in columns if done), default=2)  # the others are probably as long
    return [tuple([items[row] if row < len(items) else Unknown() for items, _ in columns]) for row in range(count)]


def _rounds(call: Call, rows: list[Value], columns: list[Column]) -> List:
    """The list of these rows or elements, which yields what the arguments yield."""
    rounds = List(rows, not all(done for _, done in columns), call.m.tick())
    for source in map(call.m.see, call.args) if columns else ():
        events.derive(call.m, rounds, source)
    return rounds


@model("itertools.repeat")
def _repeat(call: Call) -> Value | None:
    return List([call.args[0], call.args[0]], open=True) if call.args else None


@model("itertools.chain")
def _chain(call: Call) -> Value:
    columns, _ = _columns(call)
    return _rounds(call, [item for items, _ in columns for item in items], columns)


@model("itertools.chain.from_iterable")
def _flatten(call: Call) -> Value | None:
    if not call.args:
        return None
    columns, exact = _columns(call)
    inner = [elements(call.m, item) for item in columns[0][0]]
    return List([item for items, _ in inner for item in items], not (exact and all(done for _, done in inner)))


@model("itertools.islice")
def _islice(call: Call) -> Value | None:
    columns, _ = _columns(call)
    if len(call.args) > 1 and columns[0][1]:
        bounds = [NONE, call.args[1]] if len(call.args) == 2 else call.args[1:]
        known = sliced(tuple(columns[0][0]), Slice(*map(call.m.see, [*bounds, NONE][:3])))
        if known is not None:
            return List(known)
    return _again(call, columns)


@model("itertools.cycle")
def _cycle(call: Call) -> Value | None:
    columns, _ = _columns(call)
    return _again(call, columns)


def _again(call: Call, columns: list[Column]) -> Value | None:
    """Some of the elements of the first argument."""
    if not columns:
        return None
    part = List(columns[0][0], open=True)
    events.derive(call.m, part, call.seen(0))
    return part


@model("itertools.product")
def _product(call: Call) -> Value | None:
    if "repeat" in call.kwargs:
        return None
    columns, exact = _columns(call)
    rows = list(itertools.islice(itertools.product(*(items for items, _ in columns)), ELEMENTS + 1))
    return List([Tuple(row) for row in rows[:ELEMENTS]], not exact or len(rows) > ELEMENTS)


@model("itertools.pairwise")
def _pairwise(call: Call) -> Value | None:
    columns, exact = _columns(call)
    return List([Tuple(pair) for pair in itertools.pairwise(columns[0][0])], not exact) if columns else None


def _batched(items: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    return (items[start : start + size] for start in range(0, len(items), size))


_GROUPS: dict[str, Callable[[Sequence[Value], int], Iterable[Sequence[Value]]]] = {
    "batched": _batched,  # Python has it since 3.12
    "combinations": itertools.combinations,
    "permutations": itertools.permutations,
}


@model(*(f"itertools.{name}" for name in _GROUPS))
def _groups(call: Call) -> Value | None:
    """Groups of the elements, of a known size."""
    columns, exact = _columns(replace(call, args=call.args[:1]))
    size = constant(call.m.see(call.argument(1, "n" if call.name.endswith("batched") else "r")))
    if not columns or not isinstance(size, int) or size < 1:
        return None
    items, groups = columns[0][0], _GROUPS[call.name.rpartition(".")[2]]
    rows = list(itertools.islice(groups(items, size), ELEMENTS + 1))
    return List([Tuple(tuple(row)) for row in rows[:ELEMENTS]], not exact or len(rows) > ELEMENTS)


@model("itertools.tee")
def _tee(call: Call) -> Value | None:
    columns, _ = _columns(call)
    count = constant(call.m.see(call.argument(1, "n", Const(2))))
    return Tuple(tuple([call.args[0]] * count)) if columns and isinstance(count, int) and count < ELEMENTS else None


@model("itertools.compress")
def _compress(call: Call) -> Value | None:
    columns, _ = _columns(call)
    return _again(call, columns)


@package("itertools")
def _read(call: Call) -> None:
    """Any other function of itertools reads its arguments too."""
    if "repeat" not in call.kwargs:
        _columns(call)
