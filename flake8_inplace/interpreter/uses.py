"""How the functions of other files are called: where, and whether a backward may come to what they compute."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.values import Array, Const, Grad, List, Ref, Tensor, Tuple, Unknown, Value
from ..program.site import Site
from ..trace.frames import Function
from ..trace.trace import Trace
from ..trace.worklist import Use


def note(m: Trace, function: Function, args: Iterable[Value], site: Site) -> None:
    """Note the call of a function of another file, if it is no method."""
    if function.owner is not None:
        return
    use = m.work.uses.setdefault((function.piece.path, function.name), Use())
    use.sites[site.expression] = site.piece.path
    use.derived = use.derived or (m.grad_mode and not all(_is_data(m, value) for value in args))


def _is_data(m: Trace, value: Value) -> bool:
    """Whether a value is surely nothing that requires grad."""
    value = m.see(value)
    if isinstance(value, Tensor):
        return m.grad(value) is Grad.NO
    if isinstance(value, Unknown):
        return value.scalar
    if isinstance(value, Tuple):
        return all(_is_data(m, item) for item in value.items)
    if isinstance(value, List):
        held = m.state.get(value)
        return not held.open and all(_is_data(m, item) for item in held.items)
    return isinstance(value, (Array, Const, Ref))
