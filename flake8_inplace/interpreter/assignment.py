"""Assignments, augmented assignments, ``del`` and expression statements."""

from __future__ import annotations

import libcst as cst

from ..heap.values import NONE, Const, Tensor, Unknown, Value, is_number
from ..models import arithmetic, arrays, containers, indexing
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import WRITES
from ..trace.reports import Refusal
from ..trace.trace import Trace
from . import evidence, naming
from .annotations import annotation, names_of
from .binding import bind, set_item, split
from .dispatch import evaluate, runs
from .flow import leave
from .names import quietly
from .operators import AUGMENTED
from .subscripts import index_of, subscript


@runs(cst.Expr)
def _expression(m: Trace, node: cst.Expr, frame: Frame) -> bool:
    value = evaluate(m, node.value, frame)
    if _is_last(node.value, frame):
        return leave(m, node, NONE, frame)
    if isinstance(value, Unknown) and value.node is not None and isinstance(node.value, cst.Call):
        m.state.set(m.state.modes, "backward", True)
        events.free_graph(m, value.node.parents)  # unknown code may have run it: accelerator.backward(loss)
    return True


def _is_last(node: cst.BaseExpression, frame: Frame) -> bool:
    """Whether a generator that is asked for one value goes no further than this ``yield``."""
    return type(node) is cst.Yield and frame.function is not None and frame.function.once


@runs(cst.Assign)
def _assign(m: Trace, node: cst.Assign, frame: Frame) -> bool:
    targets = [target.target for target in node.targets]
    found: list[Refusal] = []
    private = frame.function is not None  # anybody may read a variable of a module or class
    if private and len(m.state[WRITES]) and all(map(naming.is_named, targets)) and naming.takes(node.value):
        value, found = naming.waiting(m, lambda: evaluate(m, node.value, frame))
    else:
        value = evaluate(m, node.value, frame)
    if _is_last(node.value, frame):
        return leave(m, node, NONE, frame)
    _note_array(m, node, value, frame)
    if _is_tensor(m, node, value, frame):
        value = m.promote(value)
    for target in targets:
        bind(m, target, value, frame)
    naming.bound(m, targets, found, frame)
    return True


def _is_tensor(m: Trace, node: cst.Assign, value: Value, frame: Frame) -> bool:
    """Whether what follows in the function proves that an unknown value is a tensor: ``d = x - y``, ``d.abs_()``."""
    unknown = isinstance(value, Unknown) and value.default is None and not value.scalar
    if not unknown or frame.function is None or facts.inplace_methods().isdisjoint(frame.piece.mentions):
        return False  # it matters only where something is overwritten
    return node in evidence.tensors(m, frame.function)


def _note_array(m: Trace, node: cst.Assign, value: Value, frame: Frame) -> None:
    """Note that an element of an argument, or of an array, is an array, if what follows in the function proves it.

    Of something else, such as a file, an element may be made when it is asked for.
    """
    function, source, target = frame.function, node.value, node.targets[0].target
    if not isinstance(value, Unknown) or function is None or not isinstance(source, cst.Subscript):
        return
    proven = isinstance(target, cst.Name) and target.value in evidence.arrays(m, function)
    if proven and arrays.proven(m, value) is None and m.see(quietly(m, source.value, frame)) in m.reports.given:
        arrays.over(m, value)


@runs(cst.AnnAssign)
def _annotated(m: Trace, node: cst.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        value = evaluate(m, node.value, frame)
        if annotation(node.annotation, names_of(m, frame.piece.path)) in ("tensor", "parameter"):
            value = m.promote(value)
        bind(m, node.target, value, frame)
    return True


@runs(cst.AugAssign)
def _augmented(m: Trace, node: cst.AugAssign, frame: Frame) -> bool:
    name = AUGMENTED[type(node.operator)]
    site = Site(frame.piece, node.operator, node)
    target = node.target
    if isinstance(target, cst.Subscript):
        owner = quietly(m, target.value, frame)
        m.assume_used(owner)
        index = index_of(m, target, owner, frame)
        value = evaluate(m, node.value, frame)
        part = Site(frame.piece, target.lbracket, target)
        split(m, owner, lambda container: _augment_part(m, name, container, index, value, part, site))
        return True
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return True
    old = evaluate(m, target, frame)
    value = evaluate(m, node.value, frame)
    m.assume_used(m.see(old))
    new = arithmetic.augment(m, name, old, value, site)
    if new is not old:
        carried = _is_carried(frame, target.value) if isinstance(target, cst.Name) else _goes_on(m)
        bind(m, target, _counted(m.see(old), new) if carried else new, frame)
    return True


def _augment_part(m: Trace, name: str, owner: Value, index: Value, value: Value, part: Site, site: Site) -> None:
    """Run ``owner[index] += value``."""
    if isinstance(owner, Unknown) and owner.likely:
        owner = m.see(owner)
    if (array := arrays.proven(m, owner)) is not None:
        arrays.assign(m, array, index, value, site, name)
        return
    old = m.see(subscript(m, owner, index, part))
    if isinstance(owner, Tensor):
        m.stack.part = True
        try:
            new = arithmetic.augment(m, name, old, value, site)
            if indexing.is_advanced(m, index):
                indexing.assign_subscript(m, owner, index, new, site, "augmented")
        finally:
            m.stack.part = False
        return
    new = arithmetic.augment(m, name, old, value, site)
    if new is not old:
        set_item(m, owner, index, _counted(old, new) if _goes_on(m) else new, site)


def _counted(old: Value, new: Value) -> Value:
    """What a counter is after an iteration that stands for all that follow; any other value as it is."""
    if not isinstance(old, Const) or not isinstance(new, Const) or not is_number(old) or not is_number(new):
        return new
    return Unknown(scalar=True, positive=0 <= old.value < new.value)


def _is_carried(frame: Frame, name: str) -> bool:
    """Whether a variable was last bound before the present iteration, and that stands for all that follow."""
    return any(frame.bound(name) < loop.later for loop in frame.loops)


def _goes_on(m: Trace) -> bool:
    """Whether a call on the stack is in an iteration that stands for all that follow."""
    return any(loop.later for frame in m.stack.frames for loop in frame.loops)


@runs(cst.Del)
def _delete(m: Trace, node: cst.Del, frame: Frame) -> bool:
    targets = node.target.elements if isinstance(node.target, cst.Tuple) else ()
    for target in (element.value for element in targets):
        if isinstance(target, cst.Subscript):
            owner = quietly(m, target.value, frame)
            _remove(m, owner, index_of(m, target, owner, frame))
    return True


def _remove(m: Trace, owner: Value, index: Value) -> None:
    split(m, owner, lambda option: containers.remove(m, option, index))
