"""The events that happen while a program is read.

The interpreter and the models emit them: ``events.overwrite(m, tensor, form, site, written)``. A checker listens with a
decorated function: ``@events.overwrite.listen``. Neither side knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Concatenate, Generic, ParamSpec

from ..heap.values import Array, Attributes, Dict, Grad, List, Node, Object, Saved, Storage, Tensor, Tuple, Value
from ..program.site import Site
from .frames import Frame, Function
from .log import Overwrite, Written
from .trace import Trace

P = ParamSpec("P")


class Event(Generic[P]):
    """One kind of event. Calling it calls all listeners, in the order of their registration."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: list[Callable[Concatenate[Trace, P], None]] = []

    def __call__(self, m: Trace, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self.listeners:
            listener(m, *args, **kwargs)

    def listen(self, listener: Callable[Concatenate[Trace, P], None]) -> Callable[Concatenate[Trace, P], None]:
        """Register a listener. Use it as a decorator."""
        self.listeners.append(listener)
        return listener


# Writes

write: Event[[Storage, str, Site]] = Event()
"""The memory of a storage is overwritten: storage, form of the write, place."""
attempt: Event[[Tensor, str, Site, Grad, bool, bool, Written]] = Event()
"""An in-place write is about to run: tensor, form, place, grad of the new values; whether PyTorch refuses it; whether
the new values of a refused one have a gradient of more than the tensor; the new values."""
overwrite: Event[[Tensor, str, Site, Written]] = Event()
"""A tensor is overwritten in place: tensor, form, place, new values. `write` was emitted for its storage before."""
logged: Event[[Overwrite]] = Event()
"""An in-place write was logged; what autograd does to a gradient is not among these."""
write_array: Event[[Array, str, Site, Written]] = Event()
"""A numpy array is overwritten: array, form, place, new values. `write` was emitted for its storage before."""
operate: Event[[str, Tensor, list[Tensor], Value, Site]] = Event()
"""An in-place operator is about to overwrite a tensor: operator, tensor, other operands, their factor ``alpha``."""
assign_part: Event[[Tensor, tuple[Value, ...], Value, Site]] = Event()
"""``tensor[index] = value`` is about to run."""
assign_in_array: Event[[Array, tuple[Value, ...], Value, Site]] = Event()
"""``array[index] = value`` is about to run, for an array of numpy."""
copy: Event[[Tensor, Tensor]] = Event()
"""``tensor.copy_(source)``."""
replace_data: Event[[Tensor, Value]] = Event()
"""``tensor.data = value``."""
divide: Event[[Tensor, Sequence[Tensor]]] = Event()
"""``vector_to_parameters(vector, parameters)``: each parameter is made a part of the vector."""
accumulate: Event[[Tensor, str, Site]] = Event()
"""Autograd overwrites a gradient: ``zero_grad(set_to_none=False)``, a second backward. Gradient, operator, place."""
update: Event[[Site | None, frozenset[Storage]]] = Event()
"""Parameters are updated: by an optimizer step, or (None) after a backward, by unknown code; their memory, if known."""

# Autograd

record: Event[[Tensor]] = Event()
"""Autograd records an operator with this operand."""
relate: Event[[str, Tensor, Tensor, Site]] = Event()
"""An operator relates two tensors of the same shape: ``sub``, ``add``, ``mul``, ``allclose``, ``cosine_similarity``."""
recorded: Event[[Node, Site]] = Event()
"""Autograd has recorded an in-place write: the node that is the history of the tensor from now on, place."""
reach: Event[[Sequence[Value]]] = Event()
"""A backward may start from these values, now or in unknown code."""
keep: Event[[Sequence[Value]]] = Event()
"""An instance keeps these values when an entry point ends: unknown code may start a backward from them."""
run_backward: Event[[Sequence[Value], bool, Site]] = Event()
"""``backward()`` is about to go through all of a graph: from these values, whether it frees the graph, place."""
retain_graph: Event[[Sequence[Value]]] = Event()
"""A backward from these values retained their graph."""
free_graph: Event[[Sequence[Node]]] = Event()
"""A backward went through these nodes, and freed what they and their ancestors saved."""
detach: Event[[Tensor, Site]] = Event()
"""``tensor.detach_()`` is about to run."""
underivable: Event[[Saved, Site]] = Event()
"""An in-place operator runs whose backward raises: what stands for its result in the graph, place."""
requires_grad: Event[[Tensor, bool, Site]] = Event()
"""``tensor.requires_grad_(value)``, or ``tensor.requires_grad = value``, is about to run."""

# Variables, attributes and containers: reads and writes of their values. Where only the type, shape or place of a value
# is asked for (`Trace.unread`), no read is emitted.

bind: Event[[Frame, str, Value]] = Event()
"""A variable is about to be bound."""
read_variable: Event[[str, Value, Frame, tuple[Value, ...]]] = Event()
"""A variable of a frame is read, or only its elements at an index: name, value, frame, index."""
read_tuple: Event[[str, Tuple | List, Frame]] = Event()
"""A variable of a frame is read that has a tuple, also one of unknown length: name, tuple, frame."""
read_item: Event[[str, Value, Frame]] = Event()
"""An element of a tuple is read by the variable that has the tuple, ``state[0]``: name, element, frame."""
set_attribute: Event[[Object, str, Value]] = Event()
"""An attribute of an instance is about to be bound."""
read_attribute: Event[[Object, str, Value]] = Event()
"""An attribute of an instance is read."""
read_part: Event[[Value]] = Event()
"""An attribute or element of an unknown value is read."""
read_operand: Event[[Value, int, bool]] = Event()
"""An operand is used: its value, when it was evaluated, whether it is a variable or attribute."""
store: Event[[List | Dict, Value]] = Event()
"""A value is put into a container."""
append: Event[[List, Value]] = Event()
"""A value is appended to a list."""
replace: Event[[List, int, Value]] = Event()
"""An element of a list is about to be replaced: list, position, new element. `store` is emitted for it after that."""
store_key: Event[[Dict, Hashable, Value]] = Event()
"""A value is put into a dictionary under a key."""
take: Event[[List | Dict, Value]] = Event()
"""An element is taken out of a container. `load` is emitted after that, if it is also read."""
load: Event[[List | Dict, Value, bool]] = Event()
"""An element of a container is read: container, element, whether it may get a name (not by ``f(**table)``)."""
load_key: Event[[Dict, Hashable, Value]] = Event()
"""The value under a key of a dictionary is read. `load` is emitted for it after that."""
remove: Event[[List | Dict, Value]] = Event()
"""An element is removed from a container."""
pass_on: Event[[Value, List | Dict, Iterable[Value]]] = Event()
"""Values are copied from one container to another: source, target, values."""
copied: Event[[Value, Value, bool]] = Event()
"""A container or an instance is copied, not what it holds: source, copy, whether by a copy and not by a conversion."""

# Calls

decide: Event[[]] = Event()
"""A test was decided by known values; for another caller or instance it may go the other way."""
hand_over: Event[[Iterable[Value]]] = Event()
"""Code that is not followed is given these values, and may keep them."""
call_instance: Event[[Object, Site]] = Event()
"""An instance is called: instance, place. The layers of a ``Sequential`` are called at its own place."""
cache: Event[[Function, Value]] = Event()
"""A function under ``functools.cache`` returned, to give the same result to each call with the same arguments."""
default_made: Event[[Value, int]] = Event()
"""The ``default_factory`` of a field was called for an instance: what it returned, the time of the call."""
discard: Event[[Value, str, Site]] = Event()
"""A method of a variable, attribute or element is called as a statement: receiver, name of the method, place."""
discard_call: Event[[str, list[Value], dict[str, Value], Site]] = Event()
"""A function of a package is called as a statement: its name, arguments, place."""
returns: Event[[Sequence[Value], Value, int, bool]] = Event()
"""A function returns: arguments, result, when it was called, whether the result is used."""
announce: Event[[Iterable[Value], int]] = Event()
"""A call declares that it works in place (by its name, ``inplace=True``, ``mark_dirty``): arguments, when it began."""
yields: Event[[Frame, List, Sequence[Value]]] = Event()
"""A generator yields values: its frame, the list of all yielded values, the values."""
derive: Event[[List, Value]] = Event()
"""A list is derived from the values of a generator (``zip``, ``islice``): the list, the source."""
exhaust: Event[[Value, int]] = Event()
"""A loop over a generator ends: what it iterated over, when it began."""
collect: Event[[Value, Sequence[Value], int]] = Event()
"""All values of a generator are collected before the first one is used: what was iterated over, those that are kept,
how many of these are the last ones; -1 if all are kept."""
state_dict: Event[[Value, Dict, Site]] = Event()
"""``module.state_dict()``, of a module or an optimizer: module, result, place."""
load_state_dict: Event[[Value, Value, Sequence[Tensor], Site]] = Event()
"""``module.load_state_dict(states)``, of a module or an optimizer: it, states, the parameters of a module, place."""
step: Event[[Object, Site]] = Event()
"""An optimizer of PyTorch is about to step: optimizer, place."""
checkpoint: Event[[Sequence[Tensor], int]] = Event()
"""A checkpointed function runs again in backward: the buffers and inputs that it sees then, when it was called."""
stop_early: Event[[int]] = Event()
"""A checkpointed function has run. Its second run in the backward stops at the last save, which was at this time."""
dataset: Event[[Function, Value, Value, bool, Site]] = Event()
"""The program creates a dataset or a sequence: its ``__getitem__``, the instance, what collates its elements or None,
whether it is surely a dataset, the place."""
method: Event[[Object, Attributes, int]] = Event()
"""A method was read as an entry point: its instance, the attributes that it had before, the time of the call."""
mark_dirty: Event[[Sequence[Tensor], Sequence[Tensor], Site]] = Event()
"""A custom function was applied that marks inputs dirty: these, its results, the place of the mark."""
differentiate: Event[[Sequence[Sequence[Tensor]], Sequence[Value], Sequence[Tensor], int]] = Event()
"""A custom function was applied: inputs, the gradient for each, inputs marked dirty, when it was called."""
