"""Call expressions and their arguments."""

from __future__ import annotations

import libcst as cst

from ..heap.regions import items_of
from ..heap.values import NONE, Dict, Object, Ref, Tensor, Unknown, Value, constant
from ..models import calls, classes, iteration, methods, records
from ..program.site import Site
from ..torchfacts import contents
from ..trace import events
from ..trace.callables import Method, Namespace, Super
from ..trace.frames import Class, Frame
from ..trace.log import STORED, WRITES
from ..trace.trace import Trace
from . import modules, reveal
from .binding import set_attribute
from .dispatch import evaluate, evaluates, site_of
from .literals import use_operand
from .names import lookup, quietly, read_variable

_QUIET = frozenset({f"builtins.{name}" for name in "len isinstance type id hasattr callable".split()})
_QUIET |= {f"torch.{name}" for name in contents.LIKE} | {f"numpy.{name}" for name in contents.OF_ARRAYS}
"""Functions that don't read the contents of their arguments."""


@evaluates(cst.Call)
def _call(m: Trace, node: cst.Call, frame: Frame) -> Value:
    if type(node.func) is cst.Name and node.func.value in ("super", "reveal", "setattr", "vars"):
        special = _special_call(m, node, node.func.value, frame)
        if special is not None:
            return special
    callee = evaluate(m, node.func, frame)
    if isinstance(callee, Method) and type(frame.line) is cst.Expr and frame.line.value is node:
        func = node.func
        if isinstance(func, cst.Attribute) and isinstance(func.value, (cst.Name, cst.Attribute, cst.Subscript)):
            events.discard(m, m.see(callee.receiver), callee.name, Site(frame.piece, func.attr, node))
    since = m.clock
    args, kwargs = arguments(m, node, callee, frame)
    if isinstance(callee, Method) and isinstance(node.func, cst.Attribute) and not callee.name.endswith("_"):
        use_operand(m, node.func.value, m.see(callee.receiver), since, frame)
    if isinstance(callee, Ref) and type(frame.line) is cst.Expr and frame.line.value is node:
        name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        events.discard_call(m, callee.name, args, kwargs, Site(frame.piece, name, node))
    result = calls.call(m, callee, args, kwargs, site_of(node, frame))
    if isinstance(callee, Method) and callee.name in methods.TAKING and isinstance(node.func, cst.Attribute):
        _take(m, node.func.value, callee, args, kwargs, result, frame)
    return result


def _take(
    m: Trace,
    node: cst.BaseExpression,
    callee: Method,
    args: list[Value],
    kwargs: dict[str, Value],
    result: Value,
    frame: Frame,
) -> None:
    """Some elements of a variable are read: those of the view that a method returns, or that a mask or index takes."""
    if type(node) is cst.Name and not m.unread:
        index: tuple[Value, ...] = ()
        if callee.name == "masked_select" and args:
            index = items_of(m.see(args[0]))
        elif callee.name in methods.INDEXING:
            index = (m.see(args[1] if len(args) > 1 else kwargs.get("index", NONE)),)
        if isinstance(result, Tensor) and result.region is not None:
            index = result.region.index
        read_variable(m, node.value, m.see(callee.receiver), frame, index)


def arguments(m: Trace, node: cst.Call, callee: Value, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    quiet = _is_quiet(callee)
    read: list[tuple[cst.BaseExpression, Value, int]] = []
    for arg in node.args:
        filled = arg.keyword is not None and arg.keyword.value == "out"
        value = (quietly if quiet or filled else evaluate)(m, arg.value, frame)
        read.append((arg.value, value, m.clock))
        if arg.star == "*":
            args.extend(iteration.collected(m, value)[0])
        elif arg.star == "**":
            given = {str(key): item for key, item in records.entries(m, value).items.items()}
            if (len(m.state[WRITES]) or len(m.state[STORED])) and isinstance(table := m.see(value), Dict):
                for item in given.values():
                    events.load(m, table, m.see(item), False)
            kwargs |= given
        elif arg.keyword is not None:
            kwargs[arg.keyword.value] = value
        else:
            args.append(value)
    for expression, value, since in read if read and read[0][2] != m.clock else ():
        use_operand(m, expression, value, since, frame)
    return args, kwargs


def _is_quiet(callee: Value) -> bool:
    """Whether what is called leaves the contents of its arguments unread."""
    if isinstance(callee, Ref):
        return callee.name in _QUIET
    return isinstance(callee, Method) and callee.name in contents.AS


def _special_call(m: Trace, node: cst.Call, name: str, frame: Frame) -> Value | None:
    if name == "super":
        scope: Frame | None = frame
        while scope is not None and scope.owner is None:
            scope = scope.parent
        if scope is None or scope.owner is None or scope.receiver is None:
            return Unknown()
        return Super(scope.owner, scope.receiver)
    if name == "reveal" and lookup(m, name, frame) is None and node.args:
        value = evaluate(m, node.args[0].value, frame)
        m.reports.reveals.append((site_of(node, frame), reveal.describe(m, value)))
        return NONE
    if name == "vars" and len(node.args) == 1:
        owner = m.see(evaluate(m, node.args[0].value, frame))
        if isinstance(owner, Object):
            return classes.attributes(m, owner)
        return modules.contents(m, owner) if isinstance(owner, Namespace) else None
    if name == "setattr" and len(node.args) > 2:
        owner = m.see(evaluate(m, node.args[0].value, frame))
        attr = constant(evaluate(m, node.args[1].value, frame))
        if isinstance(attr, str) and isinstance(owner, (Object, Class)):
            set_attribute(m, owner, attr, evaluate(m, node.args[2].value, frame), site_of(node, frame))
            return NONE
    return None
