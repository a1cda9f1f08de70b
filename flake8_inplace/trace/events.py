"""What happens while a program is read, and who listens.

The interpreter and the models emit events: ``events.overwrite(m, tensor, form, site, written)``. A checker listens by
decorating a function: ``@overwrite.listen``. Neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Concatenate, Generic, ParamSpec

from ..heap.values import Array, Dict, List, Node, Object, Storage, Tensor, Value
from ..program.site import Site
from .frames import Frame, Function
from .log import Written
from .trace import Trace

P = ParamSpec("P")


class Event(Generic[P]):
    """One kind of event. Calling it tells all listeners, in the order in which they were registered."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: list[Callable[Concatenate[Trace, P], None]] = []

    def __call__(self, m: Trace, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self.listeners:
            listener(m, *args, **kwargs)

    def listen(self, listener: Callable[Concatenate[Trace, P], None]) -> Callable[Concatenate[Trace, P], None]:
        """Register a listener; a decorator."""
        self.listeners.append(listener)
        return listener


# Writes

write: Event[[Storage, str, Site]] = Event()
"""The memory of ``storage`` is overwritten, in a form of writing."""
attempt: Event[[Tensor, str, Site]] = Event()
"""An in-place write is attempted, which torch may refuse."""
overwrite: Event[[Tensor, str, Site, Written]] = Event()
"""A tensor of the program is overwritten in place; `write` has told of its memory."""
write_array: Event[[Array, Site, Written]] = Event()
"""A numpy array is overwritten."""
operate: Event[[str, Tensor, list[Tensor], Value, Site]] = Event()
"""An in-place operator is about to overwrite a tensor with others, scaled by ``alpha``: operator, tensor, others."""
assign_part: Event[[Tensor, tuple[Value, ...], Value, Site]] = Event()
"""``tensor[index] = value`` is about to run."""
copy: Event[[Tensor, Tensor]] = Event()
"""``tensor.copy_(source)``."""
replace_data: Event[[Tensor, Value]] = Event()
"""``tensor.data = value``."""
update: Event[[Site | None]] = Event()
"""Parameters are updated: by an optimizer step, or (None) after a backward, by code that is not shown."""

# Autograd

record: Event[[Tensor]] = Event()
"""Autograd records an operator that a tensor is an operand of."""
compare: Event[[Tensor, Tensor]] = Event()
"""An operator asks how two tensors differ."""
reach: Event[[Sequence[Value]]] = Event()
"""A backward may start from these values, now or in code that is not shown."""
retain_graph: Event[[Sequence[Value]]] = Event()
"""A backward from these values kept their graph."""
free_graph: Event[[Sequence[Node]]] = Event()
"""A backward went through these nodes, and freed what they and those before them had saved."""
requires_grad: Event[[Tensor, bool, Site]] = Event()
"""``tensor.requires_grad_(value)``, or ``tensor.requires_grad = value``, is about to run."""

# Variables, attributes and containers take, give and lose values

bind: Event[[Frame, str, Value]] = Event()
"""A variable is about to be bound."""
read_variable: Event[[str, Value, Frame, tuple[Value, ...]]] = Event()
"""A variable of a frame is read, or its elements at an index: name, value, frame, index."""
set_attribute: Event[[Object, str, Value]] = Event()
"""An attribute of an instance is about to be bound."""
read_attribute: Event[[Object, str, Value]] = Event()
"""An attribute of an instance is read."""
read_part: Event[[Value]] = Event()
"""A part of something that others hold is read."""
read_operand: Event[[Value, int, bool]] = Event()
"""An operand that was evaluated at a moment is used now; the flag says that it has a name."""
store: Event[[List | Dict, Value]] = Event()
"""A container takes a value."""
append: Event[[List, Value]] = Event()
"""A list takes a value at its end."""
store_key: Event[[Dict, Hashable, Value]] = Event()
"""A dictionary is given a value under a key."""
load: Event[[List | Dict, Value, bool]] = Event()
"""An element of a container is read; the flag says that it gets a name."""
remove: Event[[List | Dict, Value]] = Event()
"""An element leaves a container."""
pass_on: Event[[Value, List | Dict, Iterable[Value]]] = Event()
"""A container takes over what another one holds: the other one, the container, the values."""

# Calls

discard: Event[[Value, str, Site]] = Event()
"""A method is called and its result thrown away: the receiver, which others can reach, the method."""
returns: Event[[Sequence[Value], Value, int, bool]] = Event()
"""A function returns: its arguments, the result, when it was called, whether the result is used."""
announce: Event[[Iterable[Value], int]] = Event()
"""The caller knows that what it called since a moment overwrites these arguments."""
yields: Event[[Frame, List, Sequence[Value]]] = Event()
"""A generator yields values: its frame, the list that stands for all that it yields, the values."""
derive: Event[[List, Value]] = Event()
"""A list stands for the values of a generator, as another list does: ``zip``, ``islice``."""
exhaust: Event[[Value, int]] = Event()
"""A loop over a generator, which began at a moment, has ended."""
collect: Event[[Value, Sequence[Value]]] = Event()
"""All that a generator yields is put in one container before any of it is used."""
state_dict: Event[[Value, Value, Site]] = Event()
"""``states = module.state_dict()``: module, states."""
load_state_dict: Event[[Value, Value, Sequence[Tensor]]] = Event()
"""``module.load_state_dict(states)``: module, states, the parameters of the module."""
checkpoint: Event[[Sequence[Tensor], int]] = Event()
"""What was called at a moment runs again in the backward: the buffers that it has."""
dataset: Event[[Function, Value, Site]] = Event()
"""The program has a dataset: its ``__getitem__``, the instance, where."""
differentiate: Event[[Sequence[Sequence[Tensor]], Sequence[Value], Sequence[Tensor], int]] = Event()
"""A custom function was applied at a moment: inputs, what its backward returns for each, inputs marked dirty."""
