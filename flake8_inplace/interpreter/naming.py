"""Who only gives a stale value a name has not read it: ``for key, old in kept.items(): print(key, old.shape)``.

What would be reported waits for the first read of the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import libcst as cst

from ..heap.values import Value
from ..program import wording
from ..torchfacts import ops as facts
from ..trace.frames import Frame
from ..trace.log import NAMED, WRITES, direct_tensors
from ..trace.reports import Refusal
from ..trace.trace import Trace

_T = TypeVar("_T")


def takes(node: cst.BaseExpression) -> bool:
    """Whether an expression takes values, or views of them, from where they are."""
    if type(node) is cst.Tuple:
        return all(takes(element.value) for element in node.elements)
    while True:
        if type(node) is cst.Call and type(node.func) is cst.Attribute and facts.is_view(node.func.attr.value):
            node = node.func.value
        elif type(node) is cst.Attribute or type(node) is cst.Subscript:
            node = node.value
        else:
            return type(node) is cst.Name


def is_named(target: cst.BaseExpression) -> bool:
    """Whether a target is made of variables alone."""
    if type(target) is cst.Tuple or type(target) is cst.List:
        return all(is_named(element.value) for element in target.elements)
    return type(target) is cst.Name


def waiting(m: Trace, take: Callable[[], _T]) -> tuple[_T, list[Refusal]]:
    """Take what gets a name. Return it, and what is to be reported once that is read."""
    outer, found = m.naming, list[Refusal]()
    m.naming = found
    try:
        return take(), found
    finally:
        m.naming = outer


def tell(m: Trace, found: Iterable[Refusal]) -> None:
    """Report what has waited."""
    (m.reports.misuses if m.naming is None else m.naming).extend(found)


def bound(m: Trace, targets: Iterable[cst.BaseExpression], found: list[Refusal], frame: Frame) -> None:
    """Let what was found wait for the names in targets that have what was overwritten. If none has, report it."""
    if not found:
        return
    names = {name for target in targets for name in wording.targets(target)} - frame.outer
    stale = [name for name in names if name in frame.vars and _is_stale(m, frame.vars[name])]
    for name in stale:
        m.state.set(m.state[NAMED], (frame, name), frozenset(found))
    if not stale:
        tell(m, found)


def _is_stale(m: Trace, value: Value) -> bool:
    return any(tensor.storage in m.state[WRITES] for tensor in direct_tensors(m, value))


def read(m: Trace, name: str, frame: Frame) -> None:
    """Report what has waited for the read of a variable."""
    if found := m.state[NAMED].get((frame, name)):
        tell(m, found)
