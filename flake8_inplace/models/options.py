"""The options of a call: whether a condition of the facts surely holds for what it is given."""

from __future__ import annotations

from typing import Final

from ..heap.values import NONE, Bindings, Const, List, Tensor, Tuple, Value
from ..torchfacts.notation import ANY_INT, Condition
from ..trace.trace import Trace


def holds(m: Trace, condition: Condition, bound: Bindings) -> bool:
    """Whether a condition on an option surely holds in this call. What is not known is none of a few odd values."""
    given = m.see(bound.get(condition.option, NONE))
    if any(given == m.see(bound[word]) for word in condition.values if word in bound):
        return not condition.negated  # it is another option that the condition names: `win_length=n_fft`
    known = _literal(m, given)
    if known is _UNKNOWN:
        return condition.negated and not any(value in (None, False, True, ANY_INT) for value in condition.values)
    return condition.holds(known)


_UNKNOWN: Final = object()


def _literal(m: Trace, value: Value) -> object:
    """Return the Python value behind one that is known: of a sequence of equal items, the item. Or ``_UNKNOWN``."""
    value = m.see(value)
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Tensor):
        return value  # given, and no constant
    if isinstance(value, List) and not m.state.get(value).open:
        value = Tuple(m.state.get(value).items)
    if isinstance(value, Tuple) and value.items:
        items = [_literal(m, item) for item in value.items]
        if _UNKNOWN in items:
            return _UNKNOWN
        return items[0] if all(item == items[0] for item in items) else tuple(items)
    return _UNKNOWN
