"""Variables and attributes."""

from __future__ import annotations

import builtins

import libcst as cst

from ..hazards.snapshots import STALE_SNAPSHOTS, UPDATES
from ..hazards.vectors import PARTS
from ..heap.values import (
    NONE,
    Array,
    Choice,
    Const,
    Dict,
    List,
    Object,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
    is_tuple,
)
from ..models import arrays, classes, lineage, methods, registry, tensors
from ..program.pieces import SUBCLASSES
from ..program.site import Site
from ..torchfacts import ops as facts
from ..torchfacts.arrays import READING
from ..trace import devices, events
from ..trace.callables import Bound, Dispatch, Method, Namespace, Super
from ..trace.frames import Class, Frame, Function
from ..trace.log import NAMED, REFUSED, WRITES, proven
from ..trace.trace import MODULES, OPTIMIZERS, Trace
from . import modules, naming
from .dispatch import evaluate, evaluates


def lookup(m: Trace, name: str, frame: Frame) -> Value | None:
    """Return the value of a variable: local, enclosing, of the module, or built in; None if it is unknown."""
    scope: Frame | None = frame
    while scope is not None:
        if name in scope.vars:
            return scope.vars[name]
        if scope.parent is None:
            return module_name(m, name, scope)
        scope = scope.parent
    return None


def module_name(m: Trace, name: str, module: Frame) -> Value | None:
    """Return the value of a name of the module. If it is not bound yet, run the statements that bind it.

    A star import binds it, or an import that is under way: what it brought before asks for it, in a circle.
    """
    found = m.text.module(module.piece.path)
    binders = found.file.binders if found is not None else {}
    for piece in binders.get(name, ()):
        m.load(piece, module)
    if name in module.vars:
        return module.vars[name]
    if ("*" in binders or name in binders) and (value := modules.found(m, name, module.piece.path)) is not None:
        return value
    return Ref(f"builtins.{name}") if hasattr(builtins, name) else None


_HOLDING = frozenset({Tensor, Array, Choice})
"""Types of values that a variable may hold a tensor by."""
_SEQUENCES = frozenset({Tuple, List})
_CONSTANTS: dict[str, Value] = {"True": Const(True), "False": Const(False), "None": NONE}


@evaluates(cst.Name)
def _name(m: Trace, node: cst.Name, frame: Frame) -> Value:
    value = _variable(m, node, frame)
    read_variable(m, node.value, value, frame)
    return value


def read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...] = ()) -> None:
    """Note the read of a variable, or of its elements at ``index``, and emit it if a checker can have a use for it.

    What was written to, ``y = x.contiguous()``, has proved that ``x`` is a tensor.
    """
    if type(value) is Unknown and len(m.state[WRITES]):
        value = proven(m, value)
    kind = type(value)
    holds = kind in _HOLDING
    if not holds and kind not in _SEQUENCES and not len(m.state[STALE_SNAPSHOTS]):
        return  # the usual case, and this is read at every name
    logged = len(m.state[WRITES]) or len(m.state[REFUSED])
    written = holds and (logged or len(m.state[PARTS]))
    emits = written or len(m.state[STALE_SNAPSHOTS]) or (kind is Choice and len(m.state[UPDATES]))
    several = logged and is_tuple(value)
    kept = holds or (kind is List and len(m.state[UPDATES]) > 0)
    if not kept and not emits and not several:
        return
    scope = frame.scope_of(name)
    if scope is None:
        return
    if logged and len(m.state[NAMED]):
        naming.read(m, name, scope)
    if several and isinstance(value, (Tuple, List)):
        events.read_tuple(m, name, value, scope)
    if emits:
        events.read_variable(m, name, value, scope, index)
    if kept:
        scope.reads[name] = m.clock


def quietly(m: Trace, node: cst.BaseExpression, frame: Frame) -> Value:
    """Evaluate an expression without reading the contents of its value, nor of what that is a part or a view of."""
    if type(node) is cst.Name:
        return _variable(m, node, frame)
    before, m.unread = m.unread, type(node) in (cst.Subscript, cst.Attribute) or _is_view(node)
    try:
        return evaluate(m, node, frame)
    finally:  # after a RecursionError the analysis continues
        m.unread = before


def _is_view(node: cst.BaseExpression) -> bool:
    """Whether a method that returns a view is called."""
    return isinstance(node, cst.Call) and type(node.func) is cst.Attribute and facts.is_view(node.func.attr.value)


def _variable(m: Trace, node: cst.Name, frame: Frame) -> Value:
    if node.value in _CONSTANTS:
        return _CONSTANTS[node.value]
    if node.value[0] == "_" and m.grad_mode:
        m.work.private.add(node.value)
    value = lookup(m, node.value, frame)
    if value is None:
        return m.symbol("name", node.value) if node.value != "reveal" else Ref("reveal")
    return m.see(value)


@evaluates(cst.Attribute)
def _attribute(m: Trace, node: cst.Attribute, frame: Frame) -> Value:
    taken = node.attr.value in methods.TAKING and type(node.value) is cst.Name  # read by the call
    only_view = m.unread and facts.is_view(node.attr.value)  # of `x.view(-1).shape`
    read = quietly if taken or only_view or node.attr.value in methods.QUIET else evaluate
    if node.attr.value[0] == "_" and m.grad_mode:
        m.work.private.add(node.attr.value)
    owner = read(m, node.value, frame)
    m.assume_used(owner)
    return attribute(m, owner, node.attr.value, Site(frame.piece, node.attr, node))


def attribute(m: Trace, value: Value, name: str, site: Site) -> Value:
    """Return ``value.name``."""
    value = m.see(value)
    if isinstance(value, Tensor):
        return methods.attribute(m, value, name, site)
    if isinstance(value, Ref):
        full = f"{value.name}.{name}"
        return registry.CONSTANTS.get(full) or Ref(full)
    if isinstance(value, Object):
        return classes.attribute(m, value, name, site)
    if isinstance(value, Namespace):
        return modules.contents(m, value) if name == "__dict__" else modules.member(m, value, name)
    if isinstance(value, Super):
        return classes.super_attribute(m, value, name, site)
    if isinstance(value, (Class, Function)) and name in ("__name__", "__qualname__"):
        return Const(value.name)
    if isinstance(value, (Class, Function)) and name == "__module__":
        module = m.text.module(value.piece.path)
        return module.frame.vars["__name__"] if module is not None else Unknown(scalar=True)
    if isinstance(value, Function) and isinstance(value.wrapped, Dispatch):
        return Method(value.wrapped, name, site.node)
    if isinstance(value, Class):
        return _class_attribute(m, value, name, site)
    if isinstance(value, Choice):
        return _choice_attribute(m, value, name, site)
    if isinstance(value, Tuple):
        return tensors.output(value, name)
    if isinstance(value, Unknown):
        return _unknown_attribute(m, value, name, site)
    if isinstance(value, (List, Dict)):
        return Method(value, name, site.node)
    if isinstance(value, Array):
        return arrays.attribute(m, value, name, site)
    return _constant_attribute(value, name, site) if isinstance(value, Const) else Unknown()


def _class_attribute(m: Trace, value: Class, name: str, site: Site) -> Value:
    found = lineage.member(value, name)
    if isinstance(found, Function):
        return Bound(found, value) if found.kind == "class" else found
    if name == SUBCLASSES:
        return Method(value, name, site.node)
    if (
        found is None
        and value.metaclass is not None
        and (of_class := lineage.member(value.metaclass, name)) is not None
    ):
        if not isinstance(of_class, Function):
            return of_class
        return m.run(of_class, [value], {}, site) if of_class.kind == "property" else Bound(of_class, value)
    if found is None and name == "apply":
        return Method(Object(value), name, site.node)
    return found if found is not None else m.symbol(value, name)


def _choice_attribute(m: Trace, value: Choice, name: str, site: Site) -> Value:
    if name == "requires_grad" and (asked := _asked(m, value)) is not None:
        return asked
    if tensors.is_method(name) and all(isinstance(m.see(option), Tensor) for _, option in value.options):
        return Method(value, name, site.node)  # whichever it is, the call is the same
    return m.split([value], lambda options: attribute(m, options[0], name, site))


def _constant_attribute(value: Const, name: str, site: Site) -> Value:
    if name == "value":
        return value  # of a member of an enumeration
    return Method(value, name, site.node) if isinstance(value.value, str) else Unknown(scalar=True)


def _asked(m: Trace, value: Choice) -> Value | None:
    """Return the test whether one of several tensors requires grad; None if an option is no tensor."""
    options = [m.see(option) for guard, option in value.options if m.state.possible(guard)]
    cells = [option.cell for option in options if isinstance(option, Tensor)]
    return m.ask(*cells) if cells and len(cells) == len(options) else None


def _unknown_attribute(m: Trace, value: Unknown, name: str, site: Site) -> Value:
    if value.default is not None and isinstance(m.see(value.default), (Class, Ref, Object)):
        return attribute(m, value.default, name, site)
    if isinstance(value.default, Const) and isinstance(value.default.value, str) and hasattr(str, name):
        return Method(value, name, site.node)
    if value.scalar and value in m.tensors:
        return Method(value, name, site.node)  # an element of an array, if it is no row
    if value.scalar:
        return m.symbol(value, name, scalar=True)
    if (value, name) in m.state.store:
        return m.see(m.state.store[value, name])
    if name == "device":
        return devices.of(m, value)
    if name in ("shape", "dtype"):
        return m.symbol(value, name, scalar=True)
    if name == "requires_grad":
        return m.ask(m.tensor_of(value).cell)  # which it is only if its use proves it
    if name in ("state_dict", "load_state_dict") or name in READING:
        return Method(value, name, site.node)
    if name in ("parameters", "named_parameters", "train", "eval"):  # optimizers and schedulers have none of these
        m.state.set(m.state[MODULES], value, True)
    if name in ("parameters", "named_parameters", "zero_grad") or (name == "step" and value in m.state[OPTIMIZERS]):
        return Method(value, name, site.node)
    if name in facts.tensor_methods() and name not in ("data", "grad", "T", "real", "imag", "values", "indices"):
        return Method(value, name, site.node)
    if name == "data" and value.likely:
        return methods.attribute(m, m.promote(value), name, site)  # type: ignore[arg-type]
    part = m.part(value, name)
    seen = m.see(part)
    if not m.unread:
        events.read_part(m, seen)
    return tensors.data(m, seen) if name == "data" and isinstance(seen, Tensor) else part
