"""Log a write, with what its new values are made of."""

from __future__ import annotations

import libcst as cst

from ..heap.values import NONE, Array, Choice, Grad, Object, Tensor, Unknown, Value, is_number
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.trace import Trace
from .log import EVENTS, PLAIN, WRITES, Event, Written, array_backing, fills, given_tensors
from .text import computed_with, mentioned, written_name


def note(m: Trace, tensor: Tensor, form: str, site: Site, written: Written = PLAIN) -> None:
    """Remember that ``tensor`` is overwritten."""
    if form in ("step", "renorm") or m.stack.stepping is not None or not m.stack.frames:
        return
    before = m.state[WRITES].get(tensor.storage, ())
    inner = m.stack.frames[-1]
    filled = form == "out" or fills(site.expression)
    filled = filled or any(event.filled and event.frames[-1] is inner for event in before)
    name = written_name(site.expression, inner) if form != "out" else ""
    made = "" if filled else _made(m, tensor, inner)
    frames, guard = tuple(m.stack.frames), m.state.guard()
    event = Event(tensor, form, site, m.tick(), frames, name, inner.line, guard, filled, made, written)
    m.state.set(m.state[WRITES], tensor.storage, (*before[1 - EVENTS :], event))


def shown(m: Trace, array: Array, site: Site) -> None:
    """Remember that a numpy array is overwritten that shows a computed tensor; what was only made is there for that."""
    if array.whole is not None and array.whole.origin == "op":
        note(m, array.whole, "numpy", site)


def _made(m: Trace, tensor: Tensor, frame: Frame) -> str:
    line = frame.line
    if isinstance(line, cst.AugAssign) and isinstance(line.operator, (cst.BitAndAssign, cst.BitOrAssign)):
        return ""  # a mask, which a second time changes nothing
    if line not in m.text.words:
        m.text.words[line] = tuple(computed_with(line)) if line is not None else ()
    others = [array_backing(m.see(frame.vars[name])) for name in m.text.words[line] if name in frame.vars]
    own = [other for other in others if _holds(m, other, tensor)]
    strange = any(isinstance(other, Unknown) and not other.scalar for other in others)
    rest = [other for other in others if isinstance(other, Tensor) and other not in own]
    if not strange and own and (not rest or _constant(m, rest, frame)):
        return "converted" if len(own) > _takes_in(line) else "shifted"
    return "marked" if m.grad(tensor) is Grad.NO and _marks(m, frame) else ""


def _constant(m: Trace, values: list[Tensor], frame: Frame) -> bool:
    """Whether tensors were made of numbers, and not given to the function: the mean and the deviation of a dataset."""
    given = [tensor.storage for value in frame.given for tensor in given_tensors(m, value, NONE)]
    return all(value.origin == "blank" and not m.grad(value) and value.storage not in given for value in values)


def _marks(m: Trace, frame: Frame) -> bool:
    """Whether a statement is ``x[mask] = number``, or calls ``masked_fill_``."""
    line = frame.line
    target = line.targets[0].target if isinstance(line, cst.Assign) and len(line.targets) == 1 else None
    if isinstance(line, cst.Assign) and isinstance(target, cst.Subscript):
        index = target.slice[0].slice if len(target.slice) == 1 else None
        mask = index.value if isinstance(index, cst.Index) else None
        values = [m.see(frame.vars[name]) for name in mentioned(line.value) if name in frame.vars]
        picks = isinstance(mask, cst.Comparison) or (
            isinstance(mask, cst.Name) and not is_number(m.see(frame.vars.get(mask.value, NONE)))
        )
        inverted = isinstance(mask, cst.UnaryOperation) and isinstance(mask.operator, cst.BitInvert)
        return (picks or inverted) and all(is_number(value) or isinstance(value, Object) for value in values)
    called = line.value if isinstance(line, (cst.Expr, cst.Assign, cst.Return)) else None
    func = called.func if isinstance(called, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value == "masked_fill_"


def _holds(m: Trace, value: Value, tensor: Tensor) -> bool:
    """Whether a value is, or may be, a tensor in the memory of another."""
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    return any(isinstance(option, Tensor) and option.storage is tensor.storage for option in options)


def _takes_in(node: cst.CSTNode | None) -> bool:
    """Whether a statement makes its new values of the old ones only where it mentions them a second time."""
    if isinstance(node, cst.Assign):
        return all(isinstance(target.target, cst.Subscript) for target in node.targets)
    if isinstance(node, cst.AugAssign):  # nothing is counted in halves
        adds = isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign))
        return adds and not (isinstance(node.value, cst.Float) and float(node.value.value) % 1)
    called = node.value if isinstance(node, cst.Expr) else None
    names = []
    while isinstance(called, cst.Call) and isinstance(called.func, cst.Attribute):
        names.append(called.func.attr.value)
        called = called.func.value
    return bool(names) and all(name in ("add_", "sub_") for name in names)
