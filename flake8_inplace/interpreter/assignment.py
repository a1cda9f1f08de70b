"""Assignments, augmented assignments, ``del`` and expression statements."""

from __future__ import annotations

import libcst as cst

from ..hazards import overlap, saved
from ..heap.values import NONE, Array, Tensor, Tuple, Unknown, Value
from ..models import arithmetic, containers, indexing
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.trace import Trace
from .annotations import annotation
from .binding import bind, set_item, split
from .dispatch import evaluate, runs
from .names import quietly
from .operators import AUGMENTED
from .subscripts import index_of, subscript


@runs(cst.Expr)
def _expression(m: Trace, node: cst.Expr, frame: Frame) -> bool:
    value = evaluate(m, node.value, frame)
    if isinstance(value, Unknown) and value.node is not None and isinstance(node.value, cst.Call):
        m.state.set(m.state.modes, "backward", True)
        saved.free_graph(m, *value.node.parents)  # code not shown may have run it: accelerator.backward(loss)
    return True


@runs(cst.Assign)
def _assign(m: Trace, node: cst.Assign, frame: Frame) -> bool:
    value = evaluate(m, node.value, frame)
    for target in node.targets:
        _shift(m, target.target, node.value, frame)
        _swap(m, target.target, node.value, value, frame)
        overlap.turn(m, target.target, node.value, frame)
        bind(m, target.target, value, frame)
        overlap.remember(m, target.target, node.value, frame)
    return True


def _shift(m: Trace, target: cst.BaseExpression, source: cst.BaseExpression, frame: Frame) -> None:
    if type(target) is not cst.Subscript:
        return
    site = Site(frame.piece, target.lbracket, target)
    if type(source) is cst.Subscript:
        overlap.shift(m, target, source, m.see(quietly(m, target.value, frame)), site)
    elif overlap.transposes(source, target):
        part = m.see(quietly(m, target, frame))
        if isinstance(part, Tensor) and part.view == "view":  # no copy, as an index that is a mask would make
            m.refuse("overlap", site)


def _spread(m: Trace, node: cst.AugAssign, frame: Frame) -> None:
    new = type(node.operator) is cst.MatrixMultiplyAssign  # which makes a tensor, and binds the name to it
    if type(node.value) is cst.Subscript and type(node.target) is not cst.Subscript and not new:
        base = m.see(quietly(m, node.target, frame))
        overlap.spread(m, node.target, node.value, base, Site(frame.piece, node.operator, node))


def _swap(m: Trace, target: cst.BaseExpression, source: cst.BaseExpression, value: Value, frame: Frame) -> None:
    if type(target) is cst.Tuple and type(source) is cst.Tuple and isinstance(value, Tuple):
        left, right = ([element.value for element in side.elements] for side in (target, source))
        owners = [m.see(quietly(m, one.value, frame)) for one in left if type(one) is cst.Subscript]
        if len(owners) == len(left) and all(isinstance(owner, Tensor) for owner in owners):
            overlap.swap(m, left, right, value, Site(frame.piece, target, target))


@runs(cst.AnnAssign)
def _annotated(m: Trace, node: cst.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        value = evaluate(m, node.value, frame)
        if annotation(node.annotation) in ("tensor", "parameter"):
            value = m.promote(value)
        bind(m, node.target, value, frame)
    return True


@runs(cst.AugAssign)
def _augmented(m: Trace, node: cst.AugAssign, frame: Frame) -> bool:
    name = AUGMENTED[type(node.operator)]
    site = Site(frame.piece, node.operator, node)
    target = node.target
    _spread(m, node, frame)
    if isinstance(target, cst.Subscript):
        owner = quietly(m, target.value, frame)
        index = index_of(m, target, owner, frame)
        value = evaluate(m, node.value, frame)
        _shift(m, target, node.value, frame)

        def act(options: list[Value]) -> Value:
            container = options[0]
            if isinstance(container, Unknown) and container.likely:
                container = m.see(container)
            old = m.see(subscript(m, container, index, Site(frame.piece, target.lbracket, target)))
            new = arithmetic.augment(m, name, old, value, site)
            if isinstance(container, Tensor):
                if indexing.is_advanced(m, index):
                    indexing.assign_subscript(m, container, index, new, site, "augmented")
            elif new is not old and not isinstance(container, Array):
                set_item(m, container, index, new, site)
            return NONE

        m.split([owner], act)
        return True
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return True
    old = evaluate(m, target, frame)
    value = evaluate(m, node.value, frame)
    new = arithmetic.augment(m, name, old, value, site)
    if new is not old:
        bind(m, target, new, frame)
    return True


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
