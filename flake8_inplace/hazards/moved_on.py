"""A state of an object that is updated again and again, and attributes that were to have it as it was.

After an update of ``self.theta``, ``self.best = self.theta`` keeps the state of that moment, but the next update
overwrites it. ``self.state = self.initial`` goes back to a value that the updates of ``self.state`` have overwritten.
"""

from __future__ import annotations

from ..heap.autograd import compatible
from ..heap.regions import same_tensor
from ..heap.state import Declared, union
from ..heap.values import ALWAYS, NONE, Choice, Dict, Grad, Object, Tensor, Value
from ..trace import events
from ..trace.frames import Class, members
from ..trace.log import STORED, WRITES, Overwrite, array_backing, direct_tensors, is_record, lies_in, since, whole
from ..trace.trace import Trace
from .intent import attribute_written

BOUND_AGAIN: Declared[tuple[Object, str], frozenset[Overwrite]] = Declared(union)
"""The writes to what an attribute was bound to once more; they are reported if it is read before it is filled."""
_UPDATES = ("augmented", "inplace", "op_")
"""Forms of writes that compute the next state from the one before."""


@events.read_attribute.listen
def on_read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the read of an attribute that was bound between two runs of an update of another one."""
    if not m.state[WRITES] or not m.stack.frames:
        return
    time = abs(m.state[STORED].get((instance, name), 0))
    pending = m.state[BOUND_AGAIN].get((instance, name), frozenset())
    for guard, option in value.options if isinstance(value, Choice) else ((ALWAYS, value),):
        for tensor in _states(m, option) if time else ():
            for event in since(m, tensor, 0):
                later = event.time > time and whole(tensor, event) and _is_other_update(m, instance, name, event, time)
                if (later or event in pending) and compatible(event.guard, guard):
                    m.refuse("read", event.site, guard=event.guard)


def note_bound_again(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note the writes to what an attribute is bound to once more.

    If that is only so on one branch, ``if better: self.best = self.theta``, the other one has no older state either.
    """
    if not m.state[WRITES] or not m.stack.frames:
        return
    key, held = (instance, name), m.state.get(instance).items.get(name, NONE)
    found, time, guard = m.state[BOUND_AGAIN].get(key, frozenset()), abs(m.state[STORED].get(key, 0)), m.state.guard()
    former = direct_tensors(m, held) if time else []
    tensors = [each for each in _states(m, value) if any(same_tensor(each, other) for other in former)]
    noted = found if tensors else frozenset()
    for event in [each for tensor in tensors for each in since(m, tensor, time)]:
        kept = event.guard < guard and whole(tensors[0], event) and _is_other_update(m, instance, name, event, time)
        if kept or _is_undone(m, instance, name, tensors[0], event):
            noted |= {event}
    if noted != found:
        m.state.set(m.state[BOUND_AGAIN], key, noted)


def _states(m: Trace, value: Value) -> list[Tensor]:
    """Return the tensors that a value is or may be, without parameters: all of their holders see an update."""
    every = direct_tensors(m, value)
    return [each for each in every if not (m.grad(each) is Grad.YES and m.cell(each).leaf)]


def _is_other_update(m: Trace, instance: Object, name: str, event: Overwrite, time: int) -> bool:
    """Whether a write updates another attribute, and ran before ``time`` as well: what it updates is a state."""
    attribute = attribute_written(event)
    if event.form not in _UPDATES or not attribute or (attribute == name and _is_own(m, instance, event)):
        return False
    every = m.state[WRITES].get(event.tensor.storage, ())
    return any(each.time < time and each.site.expression is event.site.expression for each in every)


def _is_own(m: Trace, instance: Object, event: Overwrite) -> bool:
    """Whether a write may be to an attribute of an instance, by the variable that it is spelled with."""
    from ..program.wording import root

    name = root(event.site.expression)
    scope = event.frames[-1].scope_of(name)
    owner = m.see(scope.vars[name]) if scope is not None and scope.bound(name) < event.time else NONE
    return owner is instance or not isinstance(owner, Object)


def _is_undone(m: Trace, instance: Object, name: str, tensor: Tensor, event: Overwrite) -> bool:
    """Whether a method gives an attribute what another one has, after a second method has updated it by the first.

    A method that does both has a short name for the other attribute.
    """
    frame, inner = m.stack.frames[-1], event.frames[-1]
    if attribute_written(event) != name or inner.receiver is not instance or inner.function is frame.function:
        return False
    return (whole(tensor, event) or lies_in(tensor, event)) and _is_held_elsewhere(m, instance, name, tensor)


def _is_held_elsewhere(m: Trace, instance: Object, name: str, tensor: Tensor) -> bool:
    """Whether another attribute, also of the class, has a tensor, or a record in one, or a dictionary by its name."""
    of_class = list(members(instance.cls)) if isinstance(instance.cls, Class) else []
    for other, value in [*m.state.get(instance).items.items(), *of_class]:
        found = m.see(value)
        if isinstance(found, Dict) and array_backing(m.see(m.state.get(found).items.get(name, NONE))) is tensor:
            return True
        inside = m.state.get(found).items.values() if isinstance(found, Object) and is_record(found) else ()
        if other != name and any(array_backing(m.see(each)) is tensor for each in (found, *inside)):
            return True
    return False
