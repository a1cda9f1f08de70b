"""Dispatch: the handler that runs a kind of statement or evaluates a kind of expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import libcst as cst

from ..heap.values import Array, Choice, List, Object, Ref, Tensor, Tuple, Unknown, Value, View
from ..program import wording
from ..program.nodes import parts
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.trace import Trace


def site_of(node: cst.CSTNode, frame: Frame) -> Site:
    """Return the place at which an expression is reported: the token that names the operation."""
    token: cst.CSTNode = node
    if type(node) is cst.Call:
        token = node.func.attr if type(node.func) is cst.Attribute else node.func
    elif type(node) is cst.Subscript:
        token = node.lbracket
    elif type(node) is cst.BinaryOperation or type(node) is cst.AugAssign:
        token = node.operator
    return Site(frame.piece, token, node)


def evaluate(m: Trace, node: cst.BaseExpression, frame: Frame) -> Value:
    """Return the value of an expression, with its side effects on the state."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return Unknown()
    before, frame.at = frame.at, node
    value = handler(m, node, frame)
    frame.at = before
    if type(value) in _PLACED and type(node) in _MAKING:
        locate(m, value, node, frame)
    return value


_MAKING = frozenset({cst.Call, cst.Subscript, cst.Attribute, cst.BinaryOperation})
_PLACED = frozenset({Tensor, Array, Object, Tuple, List, Choice})


def locate(m: Trace, value: Value, node: cst.CSTNode, frame: Frame) -> None:
    """Note the expression that a new tensor, or an instance, is first the value of.

    An index or an attribute makes views only: any other value was there before.
    """
    new = type(node) is not cst.Subscript and type(node) is not cst.Attribute
    if isinstance(value, Tensor):
        if value.place is None and (new or value.view is not View.NONE):
            value.place = site_of(node, frame)
    elif isinstance(value, Array):
        locate(m, value.tensor, node, frame)
    elif isinstance(value, Object):
        if value.place is None and new:
            value.place = site_of(node, frame)
            _locate_all(value.initial.items.values(), value.place)  # the parameters of a layer
    elif isinstance(value, Tuple):
        _locate_all(value.items, site_of(node, frame))
    elif isinstance(value, List) and new:
        _locate_all(m.state.get(value).items[:2], site_of(node, frame))
    elif isinstance(value, Choice) and new:
        _locate_all((option for _, option in value.options), site_of(node, frame))


def _locate_all(values: Iterable[Value], place: Site) -> None:
    for value in values:
        tensor = value.tensor if type(value) is Array else value
        if type(tensor) is Tensor and tensor.place is None:
            tensor.place = place


_Evaluate = Callable[[Trace, Any, Frame], Value]  # the node is of the kinds that it is registered for
_Evaluates = TypeVar("_Evaluates", bound=_Evaluate)
_HANDLERS: dict[type, _Evaluate] = {}


def evaluates(*kinds: type) -> Callable[[_Evaluates], _Evaluates]:
    """Register a handler that evaluates expressions of these kinds."""

    def register(handler: _Evaluates) -> _Evaluates:
        _HANDLERS.update(dict.fromkeys(kinds, handler))
        return handler

    return register


def block(m: Trace, body: Sequence[cst.CSTNode], frame: Frame) -> bool:
    """Run statements in order. Return whether control reaches the end."""
    for index, node in enumerate(body):
        if not statement(m, node, frame):
            if type(node) is cst.If:
                for rest in body[index + 1 :]:
                    skip(m, node.test, rest, frame)
            return False
    return True


def statement(m: Trace, node: cst.CSTNode, frame: Frame) -> bool:
    m.budget.statement()
    handler = _STATEMENTS.get(type(node))
    if type(node) in _LINES:
        frame.line = node
        frame.discarded = node.value if type(node) is cst.Expr else None
    return handler(m, node, frame) if handler is not None else True


_LINES = frozenset({cst.Expr, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return})


def suite(m: Trace, body: cst.BaseSuite, frame: Frame) -> bool:
    return block(m, body.body, frame)


def skip(m: Trace, why: cst.CSTNode, arm: cst.CSTNode | None, frame: Frame) -> None:
    """Skip a statically dead branch.

    If its test reads an attribute, external code may still enable it, so functions it calls remain entry points. Grad
    mode is no such attribute: without it, nothing is saved.
    """
    if arm is None or arm in m.text.skipped:
        return
    m.text.skipped.add(arm)
    if _asks_attribute(m, why, frame):
        m.work.private.update(name for name in wording.mentioned(arm) if name.startswith("_"))


def _asks_attribute(m: Trace, node: cst.CSTNode, frame: Frame) -> bool:
    if isinstance(node, cst.Attribute) and node.attr.value != "training":
        module = m.see(evaluate(m, node.value, frame)) if isinstance(node.value, cst.Name) else None
        return not isinstance(module, Ref) or f"{module.name}.{node.attr.value}" != "torch.is_grad_enabled"
    return any(_asks_attribute(m, child, frame) for child in parts(node))


_Run = Callable[[Trace, Any, Frame], bool]
_Runs = TypeVar("_Runs", bound=_Run)
_STATEMENTS: dict[type, _Run] = {}


def runs(*kinds: type) -> Callable[[_Runs], _Runs]:
    """Register a handler that runs statements of these kinds and returns whether control reaches their end."""

    def register(handler: _Runs) -> _Runs:
        _STATEMENTS.update(dict.fromkeys(kinds, handler))
        return handler

    return register
