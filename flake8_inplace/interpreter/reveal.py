"""``reveal(x)``: the abstract state of a value, for tests."""

from __future__ import annotations

from ..hazards import saved
from ..heap.values import Choice, Const, Dict, Grad, List, Object, Ref, Tensor, Tuple, Unknown, Value, View
from ..trace.trace import Trace


def describe(m: Trace, value: Value) -> str:
    """Return the abstract state of a value in words."""
    value = m.see(value)
    if isinstance(value, Choice):
        return " or ".join(sorted({describe(m, option) for guard, option in value.options if m.state.possible(guard)}))
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, (Tuple, List)):
        items = value.items if isinstance(value, Tuple) else m.state.get(value).items
        return f"[{', '.join(describe(m, item) for item in items)}]"
    if isinstance(value, Unknown):
        return "number" if value.scalar else "unknown"
    if isinstance(value, (Dict, Object, Ref)):
        return type(value).__name__.lower()
    if not isinstance(value, Tensor):
        return type(value).__name__.lower()
    state = m.cell(value)
    words = []
    saves = sorted({f"{saved.op}:{saved.slot}" for saved in saved.live(m, value.storage)})
    if saves:
        words.append(f"saved[{', '.join(saves)}]")
    if value.view is not View.NONE:
        words.append(value.view.value)
    if value.storage.inference:
        words.append("inference")
    if value.storage.hidden is not None:
        words.append("data")
    words.append({Grad.NO: "no grad", Grad.MAYBE: "maybe grad", Grad.YES: "grad"}[m.grad(value)])
    if state.leaf and m.grad(value):
        words.append("leaf")
    return " ".join(words)
