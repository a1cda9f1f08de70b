"""Python's builtins and itertools."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..heap.values import NONE, Choice, Const, Dict, List, Object, Ref, Slice, Tensor, Tuple, Unknown, Value, constant
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import events
from ..trace.trace import Trace
from . import lineage, methods, tensors
from .arithmetic import is_small, operator
from .containers import get_item, sliced
from .iteration import ELEMENTS, elements, length


def builtin(m: Trace, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value | None:
    """Call a builtin of Python; None where it is none that matters here."""
    if name in ("abs", "pow", "len", "isinstance") and any(isinstance(m.see(arg), Choice) for arg in args):
        return m.split(args, lambda values: builtin(m, name, values, kwargs, site) or Unknown())
    first = m.see(args[0]) if args else NONE
    if name == "len":
        if isinstance(first, Tensor):
            return m.symbol(first, "len", scalar=True)
        return length(m, first)
    if name == "range":
        return _range(args)
    if name == "slice" and args:
        bounds = [NONE, *args, NONE] if len(args) == 1 else [*args, NONE]
        return Slice(*(m.see(bound) for bound in bounds[:3]))
    if name in ("zip", "enumerate"):
        return zipped(m, name, args)
    if name in ("list", "tuple", "reversed", "sorted", "iter", "set"):
        items, exact = elements(m, first) if args else ([], True)
        if name in ("list", "tuple"):
            events.collect(m, first, items)
        if name == "reversed":
            items = items[::-1]
        return Tuple(tuple(items)) if name == "tuple" and exact else List(items, not exact)
    if name == "next":
        return elements(m, first)[0][0] if args and elements(m, first)[0] else Unknown()
    if name in ("max", "min") and len(args) == 1 and "key" in kwargs:
        return get_item(m, first, Unknown(scalar=True))
    if name == "type" and len(args) == 1 and isinstance(first, Object):
        return first.cls
    if name in ("sum", "max", "min"):
        return _fold(m, name, args, site)
    if name == "abs" and isinstance(first, Tensor):
        return methods.method(m, first, "abs", [], {}, site)
    if name == "pow" and len(args) > 1 and isinstance(first, Tensor):
        return methods.method(m, first, "pow", args[1:], {}, site)
    if name in (
        "int",
        "float",
        "bool",
        "str",
        "abs",
        "round",
        "pow",
        "ord",
        "hash",
        "id",
        "repr",
        "isinstance",
        "hasattr",
        "callable",
        "issubclass",
        "all",
        "any",
        "type",
        "divmod",
        "format",
        "print",
        "open",
    ):
        return _scalar(m, name, args)
    if name == "getattr" and len(args) > 1:
        return None
    return None


_CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "abs": abs}


def _scalar(m: Trace, name: str, args: list[Value]) -> Value:
    values = [constant(m.see(a)) if isinstance(m.see(a), Const) else None for a in args]
    given = values[0] if len(values) == 1 else None
    number = isinstance(given, (int, float)) or (name == "int" and isinstance(given, str) and given.isdecimal())
    if name in _CASTS and number and is_small(given):
        with suppress(ValueError, OverflowError):  # int(float("nan"))
            return Const(_CASTS[name](given))
    if name == "isinstance" and len(args) == 2:
        return _isinstance(m, m.see(args[0]), m.see(args[1]))
    of_tensor = name == "hasattr" and len(args) == 2 and isinstance(m.see(args[0]), Tensor)
    if of_tensor and values[1] in facts.tensor_methods():
        return Const(True)
    if name in ("hasattr", "callable", "issubclass"):
        return m.symbol(name, *(m.see(a) for a in args), scalar=True)
    return Unknown(scalar=True)


def _isinstance(m: Trace, value: Value, cls: Value) -> Value:
    """Decided for tensors and for instances whose classes are known all the way up."""
    options = cls.items if isinstance(cls, Tuple) else (cls,)
    names = [option.name for option in options if isinstance(option, Ref)]
    if isinstance(value, Tensor) and len(names) == len(options):
        computed = m.cell(value).node is not None  # which no parameter is
        return Const("torch.Tensor" in names or ("torch.nn.Parameter" in names and not computed))
    if isinstance(value, (Tuple, List, Dict)) and len(names) == len(options):
        plain = {Tuple: "tuple", List: "list", Dict: "dict"}[type(value)]
        return Const(any(name.rpartition(".")[2].lower() == plain for name in names))
    if isinstance(value, Object):
        known = lineage.lineage(value.cls)
        if any(option in known for option in options):
            return Const(True)
        if isinstance(value.cls, Ref) and all(
            name.startswith("torch.nn.") and name != "torch.nn.Module" for name in names
        ):
            return Const(False)
    return m.symbol("isinstance", value, cls, scalar=True)


def _range(args: list[Value]) -> Value:
    known = [constant(a) if isinstance(a, Const) else None for a in args]
    if args and all(isinstance(k, int) for k in known):
        try:
            return Const(range(*(int(k) for k in known if k is not None)))
        except (TypeError, ValueError):
            return Unknown(scalar=True)
    start: Value = args[0] if len(args) > 1 else Const(0)
    start = start if isinstance(start, Const) else Unknown(scalar=True)
    return Object(Ref("range"), {"start": start})


def zipped(m: Trace, name: str, args: list[Value]) -> Value:
    columns = [elements(m, arg) for arg in args[: 1 if name == "enumerate" else None]]
    if not columns:
        return List()
    exact = all(done for _, done in columns)
    count = min((len(items) for items, done in columns if done), default=2)  # the others are probably as long
    rows: list[Value] = []
    for row in range(count):
        values = [items[row] if row < len(items) else Unknown() for items, _ in columns]
        if name == "enumerate":
            number: Value = Const(row) if exact or row == 0 else Unknown(scalar=True, positive=True)
            values.insert(0, number)
        rows.append(Tuple(tuple(values)))
    rounds = List(rows, not exact)
    for source in map(m.see, args):
        events.derive(m, rounds, source)
    return rounds


def iterator(m: Trace, name: str, args: list[Value]) -> Value | None:
    """Call a function of itertools; None for those that are not known."""
    if name == "repeat" and args:
        return List([args[0], args[0]], open=True)
    columns = [elements(m, arg) for arg in args]
    exact = all(done for _, done in columns)
    if name == "chain":
        return List([item for items, _ in columns for item in items], not exact)
    if name == "chain.from_iterable" and columns:
        inner = [elements(m, item) for item in columns[0][0]]
        return List([item for items, _ in inner for item in items], not (exact and all(done for _, done in inner)))
    if name == "islice" and len(args) > 1 and columns[0][1]:
        bounds = [NONE, args[1]] if len(args) == 2 else args[1:]
        known = sliced(tuple(columns[0][0]), Slice(*map(m.see, [*bounds, NONE][:3])))
        if known is not None:
            return List(known)
    if name == "product":
        rows = list(itertools.islice(itertools.product(*(items for items, _ in columns)), ELEMENTS + 1))
        return List([Tuple(row) for row in rows[:ELEMENTS]], not exact or len(rows) > ELEMENTS)
    if name == "zip_longest":
        return zipped(m, "zip", args)
    if name in ("cycle", "islice") and columns:
        part = List(columns[0][0], open=True)
        events.derive(m, part, m.see(args[0]))
        return part
    if name == "pairwise" and columns:
        return List([Tuple(pair) for pair in itertools.pairwise(columns[0][0])], not exact)
    return None


def _fold(m: Trace, name: str, args: list[Value], site: Site) -> Value:
    if name == "sum" and args:
        items, _ = elements(m, args[0])
        total = items[0] if items else Const(0)
        for item in items[1:]:
            total = operator(m, "add", total, item, site)
        return total
    if any(isinstance(m.see(a), Tensor) for a in args):
        return tensors.unknown_call(m, *args)
    return tensors.unknown_call(m, *args) if m.history(*args) else Unknown(scalar=True)
