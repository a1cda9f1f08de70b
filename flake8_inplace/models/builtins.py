"""Builtins of Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..heap.values import (
    NONE,
    TENSOR,
    Array,
    Choice,
    Const,
    Dict,
    List,
    Object,
    Ref,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    is_tuple,
)
from ..program.wording import is_assigned, targets
from ..torchfacts import modules
from ..trace import events
from ..trace.frames import Class, Function
from ..trace.trace import Trace
from . import lazy, lineage, methods, tensors
from .arithmetic import is_small, operator
from .containers import get_item
from .iteration import collected, elements, following, iterator, length
from .reflection import is_builtin
from .registry import Call, Model, builtin, model, package


def _for_each_option(function: Model) -> Model:
    """Let a model see one option of each argument, where there are several."""

    def split(call: Call) -> Value:
        return call.m.split(call.args, lambda values: function(replace(call, args=values)) or Unknown())

    return split


@builtin("len")
@_for_each_option
def _len(call: Call) -> Value:
    first = call.seen(0)
    if isinstance(first, Tensor):
        return call.m.symbol(first, "len", scalar=True)
    return length(call.m, first)


@builtin("range")
def _range(call: Call) -> Value:
    args = call.args
    known = [constant(a) if isinstance(a, Const) else None for a in args]
    if args and all(isinstance(k, int) for k in known):
        try:
            return Const(range(*(int(k) for k in known if k is not None)))
        except (TypeError, ValueError):
            return Unknown(scalar=True)
    start: Value = args[0] if len(args) > 1 else Const(0)
    start = start if isinstance(start, Const) else Unknown(scalar=True)
    return Object(Ref("range"), {"start": start, "stop": call.seen(len(args) - 1) if len(args) in (1, 2) else NONE})


@builtin("slice")
def _slice(call: Call) -> Value | None:
    if not call.args:
        return None
    bounds = [NONE, *call.args, NONE] if len(call.args) == 1 else [*call.args, NONE]
    return Slice(*(call.m.see(bound) for bound in bounds[:3]))


@builtin("list")
def _list(call: Call) -> Value:
    items, exact = _collected(call)
    made = List(items, not exact, call.m.tick())
    if call.args and isinstance(source := call.seen(0), List):
        events.copied(call.m, source, made, False)
    return made


@builtin("tuple")
def _tuple(call: Call) -> Value:
    items, exact = _collected(call)
    return Tuple(tuple(items)) if exact else List(items, open=True, time=call.m.tick())


@builtin("iter")
def _iter(call: Call) -> Value:
    source = iterator(call.m, call.argument(0), call.site)
    if lazy.suspended(call.m, source) is not None:
        return source
    items, exact = elements(call.m, source)
    return List(items, not exact)


@builtin("sorted", "set")
def _in_some_order(call: Call) -> Value:
    items, exact = _collected(call)
    rank(call, items)
    return List(items, not exact)


@builtin("reversed")
def _reversed(call: Call) -> Value:
    items, exact = _elements(call)
    return List(items[::-1], not exact)


def _collected(call: Call) -> tuple[list[Value], bool]:
    """The elements of the argument, which all are read before one of them is used, and whether these are all."""
    return collected(call.m, call.args[0]) if call.args else ([], True)


def _elements(call: Call) -> tuple[list[Value], bool]:
    """The elements of the argument, and whether these are all."""
    return elements(call.m, call.args[0]) if call.args else ([], True)


def rank(call: Call, items: list[Value]) -> None:
    """``key=``: a function is called with each element, to put them in order."""
    key = call.kwargs.get("key", NONE)
    for item in items if key != NONE else ():
        call.m.call(key, [item], {}, call.site)


@builtin("next")
def _next(call: Call) -> Value:
    """In a loop, the variable that gets the element is one that goes through the elements, as that of ``for`` is."""
    frame = call.m.stack.frames[-1] if call.m.stack.frames else None
    if frame is not None and frame.loops and frame.line is not None and is_assigned(frame.line, call.site.expression):
        frame.elements |= targets(frame.line)
    return following(call.m, call.seen(0), call.site, call.seen(1) if len(call.args) > 1 else None)


@builtin("staticmethod", "classmethod", "property")
def _method_kind(call: Call) -> Value | None:
    """``go = staticmethod(function)`` in a class."""
    function, kind = call.seen(0), call.name.removeprefix("builtins.").removesuffix("method")
    return replace(function, kind=kind) if isinstance(function, Function) else None


@builtin("max", "min")
def _extreme(call: Call) -> Value:
    m, args = call.m, call.args
    rank(call, _elements(call)[0] if len(args) == 1 and "key" in call.kwargs else args)
    if len(args) == 1 and "key" in call.kwargs:
        return get_item(m, call.seen(0), Unknown(scalar=True))
    if any(isinstance(m.see(a), Tensor) for a in args) or m.history(*args):
        return tensors.unknown_call(m, *args)
    return Unknown(scalar=True)


@builtin("sum")
def _sum(call: Call) -> Value:
    if not call.args:
        return Unknown(scalar=True)
    items, _ = _elements(call)
    total = items[0] if items else Const(0)
    for item in items[1:]:
        total = operator(call.m, "add", total, item, call.site)
    return total


@builtin("type")
def _type(call: Call) -> Value:
    first = call.seen(0)
    return first.cls if len(call.args) == 1 and isinstance(first, Object) else Unknown(scalar=True)


@builtin("abs")
@_for_each_option
def _abs(call: Call) -> Value:
    first = call.seen(0)
    return methods.method(call.m, first, "abs", [], {}, call.site) if isinstance(first, Tensor) else _cast(call)


@builtin("pow")
@_for_each_option
def _pow(call: Call) -> Value:
    first = call.seen(0)
    if len(call.args) > 1 and isinstance(first, Tensor):
        return methods.method(call.m, first, "pow", call.args[1:], {}, call.site)
    return Unknown(scalar=True)


_CASTS: dict[str, Callable[[Any], object]] = {
    "builtins.int": int,
    "builtins.float": float,
    "builtins.bool": bool,
    "builtins.abs": abs,
}


@builtin("int", "float", "bool")
def _cast(call: Call) -> Value:
    """A number that is made of a known one."""
    given = call.seen(0)
    value = given.value if len(call.args) == 1 and isinstance(given, Const) else None
    if isinstance(value, (int, float, str)) and is_small(value):
        with suppress(ValueError, OverflowError, TypeError):  # int("n"), int(float("nan")), abs("-1")
            made = _CASTS[call.name](value)
            return Const(made) if made == made else Unknown(scalar=True)  # no two NaN are equal
    return Unknown(scalar=True)


@builtin("str", "round", "ord", "hash", "id", "repr", "divmod", "format", "print", "open")
def _no_tensor(call: Call) -> Value:
    return Unknown(scalar=True)


@builtin("isinstance")
def _isinstance(call: Call) -> Value | None:
    """An element that is there on some paths only, as one that a branch has appended, is asked about on those."""
    value = call.seen(0)
    if isinstance(value, Choice) and len(value.options) == 1:
        answer = instance_of(call.m, call.m.see(value.options[0][1]), call.seen(1))
        if isinstance(answer, Const):
            return answer
    return _isinstance_of_each(call)


@_for_each_option
def _isinstance_of_each(call: Call) -> Value:
    return instance_of(call.m, call.seen(0), call.seen(1)) if len(call.args) == 2 else Unknown(scalar=True)


@model("torch.broadcast_shapes")
def _broadcast_shapes(call: Call) -> Value:
    """A shape of unknown length. Each size is 1, or that of one of the shapes."""
    larger, size = Unknown(scalar=True), Unknown(scalar=True)
    return List([Choice(((frozenset({(larger, True)}), size), (frozenset({(larger, False)}), Const(1))))], open=True)


@model("torch.is_tensor")
def _is_tensor(call: Call) -> Value | None:
    if not call.args:
        return None
    return call.m.split(call.args[:1], lambda values: instance_of(call.m, values[0], Ref("torch.Tensor")))


def instance_of(m: Trace, value: Value, cls: Value) -> Value:
    """``isinstance(value, cls)``: decided for tensors and for instances whose classes are known all the way up."""
    options = cls.items if isinstance(cls, Tuple) else (cls,)
    names = [option.name for option in options if isinstance(option, Ref)]
    if "builtins.object" in names:
        return Const(True)
    found = _is_of_classes(value, options) if isinstance(value, Object) else None
    if found is None and len(names) == len(options):
        found = _is_of_names(m, value, names)
    if found is not None:
        return Const(found)
    asked = m.symbol("isinstance", value, cls, scalar=True)
    if asked in m.state.path:
        return Const(m.state.path[asked])
    if cls == TENSOR and isinstance(value, Unknown):
        m.tested[asked] = value
    return asked


def _is_of_names(m: Trace, value: Value, names: list[str]) -> bool | None:
    """Whether a value is of one of these types, which the program does not define; None if it may be."""
    if isinstance(value, Tensor):
        computed = m.cell(value).node is not None  # which no parameter is
        if not _ALL.isdisjoint(names) or ("torch.nn.Parameter" in names and not computed):
            return True
        return None if any(map(_TYPED.match, names)) else False
    if isinstance(value, (Tuple, List, Dict)):
        plain = "tuple" if is_tuple(value) else "list" if isinstance(value, List) else "dict"
        return any(name.rpartition(".")[2].lower() == plain for name in names)
    if isinstance(value, Array):
        return False if (_APART - {"numpy.ndarray"}).issuperset(names) else None
    if isinstance(value, Unknown):
        return False if _is_another(m, value, names) else None
    told: list[bool | None] = [None]
    if isinstance(value, (Const, Class, Function)):
        told = [is_builtin(value, name) for name in names]
    elif isinstance(value, Object) and isinstance(value.cls, Ref):
        told = [modules.is_a(value.cls.name, name) for name in names]
    return True in told if True in told or None not in told else None


def _is_of_classes(value: Object, classes: Sequence[Value]) -> bool | None:
    """Whether an instance is of one of these classes; None if it may be."""
    known = lineage.lineage(value.cls)
    if any(cls in known for cls in classes):
        return True
    shown = all(isinstance(base, (Class, Ref)) for base in known)
    return False if shown and all(_is_apart(cls, known) for cls in classes) else None


_APART = frozenset(
    {*(f"builtins.{name}" for name in ("dict", "list", "tuple", "str")), "torch.Tensor", "numpy.ndarray"}
)
"""Types of which no value has two."""


def _is_another(m: Trace, value: Unknown, names: list[str]) -> bool:
    """Whether an earlier test, true on this path, says that a value has one of these types and none of ``names``."""
    asked = {name: m.symbols.get(("isinstance", value, Ref(name))) for name in _APART}
    found = [name for name, test in asked.items() if test is not None and m.state.path.get(test) is True]
    return bool(found) and _APART.difference(found).issuperset(names)


_TENSORS = frozenset({"torch.Tensor", "torch.nn.Parameter"})
_ALL = frozenset({"torch.Tensor", "torch._C.TensorBase"})
_ALL |= {
    f"{room}.{name}"
    for room in ("collections.abc", "typing")
    for name in ("Collection", "Container", "Hashable", "Iterable", "Reversible", "Sized")
}
"""Classes, besides ``object``, that all tensors are instances of."""
_TYPED = re.compile(r"torch(\.cuda)?\.\w+Tensor$|typing\.Supports")
"""Whether a tensor is an instance of these depends on its type, its size and its device."""
_BARE = frozenset({"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"})


def _is_apart(cls: Value, known: list[Value]) -> bool:
    """Whether none of the classes of an instance can inherit from a class that isn't among them.

    What others define inherits from no class of the program, and no module is a tensor, or a builtin of Python. What
    derives from nn.Module alone is no layer.
    """
    outside = [base.name for base in known if isinstance(base, Ref)]
    if isinstance(cls, Class):
        return True
    if isinstance(cls, Ref) and modules.lookup(cls.name) is not None:
        return all(name in _BARE or name.startswith(("abc.", "typing.", "builtins.")) for name in outside)
    if isinstance(cls, Ref) and (cls.name in _TENSORS or cls.name.startswith("builtins.")):
        return all(name.startswith("torch.nn.") and name not in _TENSORS for name in outside)
    return isinstance(cls, Ref) and cls.name.startswith("torch.") and not outside


@package("builtins")
def _unknown(call: Call) -> Value:
    return tensors.unknown_call(call.m, *call.values)
