"""Functions of Python that look up attributes, classes and modules by values."""

from __future__ import annotations

import builtins

from ..heap.values import NONE, Const, Dict, List, Ref, Tensor, Tuple, Unknown, Value, constant
from ..torchfacts import ops as facts
from ..trace.callables import Namespace
from ..trace.frames import Class, Function
from . import classes, lineage
from .registry import Call, builtin, model

_PLAIN = frozenset({Ref("abc.ABC"), Ref("abc.ABCMeta"), Ref("builtins.object"), Ref("builtins.type")})
"""Classes of Python that bring along no attributes but those of all classes."""

_OF_TORCH = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.nn.Module"})


@builtin("getattr")
def _getattr(call: Call) -> Value | None:
    name = constant(call.seen(1)) if len(call.args) > 1 else None
    if not isinstance(name, str):
        return None
    owner = call.seen(0)
    if len(call.args) > 2 and isinstance(owner, Class) and _has(owner, name) is False:
        return call.args[2]
    return call.m.attribute(owner, name, call.site)


@builtin("hasattr")
def _hasattr(call: Call) -> Value:
    name = constant(call.seen(1)) if len(call.args) == 2 else None
    if isinstance(name, str):
        owner = call.seen(0)
        if isinstance(owner, Tensor) and name in facts.tensor_methods():
            return Const(True)
        if isinstance(owner, Class) and (known := _has(owner, name)) is not None:
            return Const(known)
    return test(call)


def _has(cls: Class, name: str) -> bool | None:
    """Whether a class of the program has an attribute; None if it may have it from what the program does not show."""
    above = [cls.metaclass] if cls.metaclass is not None else []
    every = [base for each in (cls, *above) for base in lineage.lineage(each)]
    if any(isinstance(base, Class) and name in base.members for base in every):
        return True
    return (
        False if all(isinstance(base, Class) or base in _PLAIN for base in every) and not hasattr(type, name) else None
    )


@builtin("callable")
def test(call: Call) -> Value:
    """Return a test that is unknown, and the same for the same arguments."""
    return call.m.symbol(call.name, *map(call.m.see, call.args), scalar=True)


@builtin("issubclass")
def _issubclass(call: Call) -> Value:
    cls, of = call.seen(0), call.seen(1) if len(call.args) > 1 else NONE
    options = of.items if isinstance(of, Tuple) else (of,)
    if isinstance(cls, Class):
        known = lineage.lineage(cls)
        if any(option in known for option in options):
            return Const(True)
        shown = all(isinstance(base, (Class, Ref)) for base in known)
        if shown and all(isinstance(option, Class) for option in options):
            return Const(False)  # what others define inherits from no class of the program
    return test(call)


def is_builtin(value: Const | Class | Function, name: str) -> bool | None:
    """Return whether a constant, a class or a function is an instance of a class; None if the class is not known."""
    if name in _OF_TORCH:
        return False
    kind = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    if not isinstance(kind, type):
        return None
    if isinstance(value, Const):
        return isinstance(value.value, kind)
    return kind is object or (kind is type and isinstance(value, Class))


@model("inspect.isclass", "inspect.isfunction")
def _is_kind(call: Call) -> Value | None:
    value = call.seen(0) if call.args else Unknown()
    kind = Class if call.name == "inspect.isclass" else Function
    return Const(isinstance(value, kind)) if isinstance(value, (Class, Function, Namespace, Const)) else None


@model("inspect.getmembers")
def _get_members(call: Call) -> Value | None:
    """The names that a module of the project binds, with their values, as far as a predicate holds for these."""
    m, wanted = call.m, call.m.see(call.argument(1, "predicate"))
    module = call.seen(0) if call.args else NONE
    contents = m.attribute(module, "__dict__", call.site) if isinstance(module, Namespace) else NONE
    if not isinstance(contents, Dict):
        return None
    found: list[Value] = []
    for name, value in sorted((str(key), value) for key, value in m.state.get(contents).items.items()):
        if wanted == NONE or constant(m.see(m.call(wanted, [value], {}, call.site))) is True:
            found.append(Tuple((Const(name), value)))
    return List(found, open=True)


@builtin("dir")
def _dir(call: Call) -> Value | None:
    module = call.seen(0) if call.args else NONE
    contents = call.m.attribute(module, "__dict__", call.site) if isinstance(module, Namespace) else NONE
    if not isinstance(contents, Dict):
        return None
    return List([Const(name) for name in sorted(map(str, call.m.state.get(contents).items))], open=True)


@model("pydoc.locate", "pkgutil.resolve_name")
def _locate(call: Call) -> Value | None:
    """What a dotted name means, of which the first parts are a module: the longest that there is."""
    name = constant(call.seen(0)) if call.args else None
    if not isinstance(name, str):
        return None
    parts = name.replace(":", ".").split(".")
    for size in range(len(parts), 0, -1):
        found = call.m.find_module(".".join(parts[:size]), call.site.piece.path)
        if isinstance(found, Namespace):
            for part in parts[size:]:
                found = call.m.attribute(found, part, call.site)
            return found
    return Ref(".".join(parts))


@builtin("type.__new__")
def _new_class(call: Call) -> Value:
    return classes.new_class(call)
