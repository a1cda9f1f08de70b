"""What the analysis knows of each write: under which grad mode, to what, and who reads the old tensor afterwards.

A fix gives one name a new tensor. Whoever reads the memory by another way, bound before the write, was meant to see
what was written, and would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import libcst as cst

from ..finding import Place
from ..heap.values import (
    ALWAYS,
    ITEMS,
    NONE,
    Array,
    Choice,
    Const,
    Dict,
    Grad,
    Guard,
    List,
    Object,
    Ref,
    Source,
    Storage,
    Tensor,
    Tuple,
    Value,
    View,
    is_number,
    is_tuple,
)
from ..models import iteration, lineage
from ..program.site import Site
from ..trace import events, holdings
from ..trace.frames import Class, Frame, Function
from ..trace.holdings import tensors_in
from ..trace.log import EVENTS, REFUSED, STORED, WRITES, Overwrite, Refused, Written
from ..trace.trace import Trace
from . import holders
from .syntax import is_fresh_layer, root_of, written_at

ELSEWHERE = ""
"""The way by which somebody reads who holds the tensor under another name: an alias, a base, a caller, a container."""

ELEMENT, ELEMENTS = "[]", "[][]"
"""The ways by which an element is read of a container that holds the tensor once, or more than once."""

LEAF = "leaf"
"""What a variable is that holds a leaf which requires grad: under its name people ask for the gradient."""

FROZEN = "frozen"
"""What a variable is that holds an instance whose attributes cannot be bound anew."""
_COMPARING = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_PLAIN = frozenset({"add", "sub", "mul", "neg"})
_COPIES = (Source.MAYBE_CAST, Source.MAYBE_SAME)
_KINDS: dict[type, str] = {
    Tensor: "tensor",
    Array: "array",
    Tuple: "tuple",
    List: "list",
    Dict: "dict",
    Object: "object",
}


def tuple_way(name: str) -> str:
    """Return the way by which a tensor is read through a tuple that a variable has."""
    return f"({name})"


@dataclass(slots=True)
class Fact:
    """One place that writes, over all the times that the analysis saw it run.

    - ``cuts``: it ran under `no_grad` and the tensor belongs to the graph; a new tensor would not.
    - ``leaf``, ``part_of_leaf``: what is written is a leaf that requires grad, or a view of one.
    - ``carries``: what is written has a gradient.
    - ``feeds``: that is the gradient of more than the leaf which is written: under `no_grad` it would be lost.
    - ``discarded``: its result was thrown away.
    - ``ordered``: a caller that has the tensor threw the result of its call away: it wants what is done to it.
    - ``ways``: the names by which the old tensor is read afterwards, `ELSEWHERE` for all but the one that was written.
    - ``kinds``: what the variables of its function held.
    - ``views``: those that held a view.
    - ``computed``: the function computed it; a caller, an attribute or unknown code did not hand it over.
    - ``shared``: somebody else may hold it: a caller, an object, code that is not followed.
    - ``names``: the variables of its function that lead to it.
    - ``same_type``: the new values leave the type of a tensor of floats, as its own values and numbers do.
    - ``numbers``: the new values are numbers.
    - ``of_graph``: what is written may be a part of a graph, and no leaf of it.
    - ``memory``: what it wrote to.
    """

    form: str
    cuts: bool = False
    leaf: bool = False
    part_of_leaf: bool = False
    carries: bool = False
    feeds: bool = False
    discarded: bool = False
    ordered: bool = False
    ways: set[str] = field(default_factory=set)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    views: set[str] = field(default_factory=set)
    computed: bool = True
    shared: bool = False
    names: set[str] = field(default_factory=set)
    same_type: bool = True
    numbers: bool = True
    of_graph: bool = False
    memory: set[Storage] = field(default_factory=set)


@dataclass(slots=True)
class Facts:
    """What the analysis saw in the file at ``path``: places that write, and places that call modules.

    ``layers``: whether, each time, it was a layer of PyTorch that returns a new tensor and overwrites nothing.
    ``kept``: when a list or dictionary was first given a tensor.
    ``handed``: the memory that code which is not followed was given, or that was yielded.
    ``tuples``: those that led to what was written, by identity, each with the writes.
    ``decided``: the calls in which a branch was left out, which another caller may take.
    """

    path: str = ""
    writes: dict[Place, Fact] = field(default_factory=dict)
    layers: dict[Place, bool] = field(default_factory=dict)
    kept: dict[tuple[List | Dict, Tensor], int] = field(default_factory=dict)
    handed: set[Storage] = field(default_factory=set)
    decided: set[Frame] = field(default_factory=set)
    tuples: dict[int, tuple[Value, list[Fact]]] = field(default_factory=dict)


_facts: ContextVar[Facts | None] = ContextVar("facts", default=None)


@contextmanager
def observed(path: str = "") -> Iterator[Facts]:
    """Collect what every analysis in the block learns of writes in a file, by their places."""
    found = Facts(path)
    token = _facts.set(found)
    try:
        yield found
    finally:
        _facts.reset(token)


@events.attempt.listen
def note_write(
    m: Trace, tensor: Tensor, form: str, site: Site, grad: Grad, refused: bool, carries: bool, written: Written
) -> None:
    """Note under which circumstances a place writes."""
    facts = _facts_at(site)
    if facts is None or not m.stack.frames:
        return
    frame = m.stack.frames[-1]
    fact = facts.writes.setdefault(site.piece.tree.place(site.node), Fact(form))
    base = tensor.cell.base  # of a view made under `no_grad`
    requires = m.grad(tensor) is not Grad.NO or (base is not None and m.state.get(base).grad is not Grad.NO)
    fact.cuts = fact.cuts or (requires and not m.grad_mode and not any(map(_is_custom, m.stack.frames)))
    if requires and m.cell(tensor).leaf:
        whole = tensor.view is View.NONE
        fact.leaf, fact.part_of_leaf = fact.leaf or whole, fact.part_of_leaf or not whole
    fact.memory.add(tensor.storage.memory)
    fact.of_graph = fact.of_graph or (requires and m.cell(tensor).node is not None)
    fact.carries = fact.carries or (grad is not Grad.NO and m.grad_mode)
    fact.feeds = fact.feeds or carries
    if refused and form != "out" and not (requires and m.cell(tensor).leaf):  # no leaf, no buffer: a value
        before, event = m.state[REFUSED].get(tensor.storage, ()), Refused(tensor, site, m.tick(), tuple(m.stack.frames))
        m.state.set(m.state[REFUSED], tensor.storage, (*before[1 - EVENTS :], event))
    fact.discarded = fact.discarded or frame.discarded is site.expression
    fact.ordered = fact.ordered or _is_ordered(m, tensor)
    _note_tuples(m, facts, tensor, fact)
    _note_writer(m, frame, site)
    _note_holders(m, facts, tensor, fact)
    fact.shared = fact.shared or frame in facts.decided
    fact.same_type = fact.same_type and all(_keeps_type(m, value, tensor) for value in written.values)
    fact.numbers = fact.numbers and all(map(_is_plain, map(m.see, written.values)))
    _note_kinds(m, frame, fact)


def _note_holders(m: Trace, facts: Facts, tensor: Tensor, fact: Fact) -> None:
    """Note who leads to a tensor."""
    fact.computed = fact.computed and holders.is_computed(m, tensor)
    fact.shared = fact.shared or not fact.computed or holders.is_shared(m, tensor, facts.handed)
    fact.names |= holders.names_of(m, tensor, m.stack.frames[-1])


def _note_tuples(m: Trace, facts: Facts, tensor: Tensor, fact: Fact) -> None:
    """Note the tuples that lead to what is written: whoever reads them later is to see it."""
    for frame in m.stack.frames:
        for value in map(m.see, frame.vars.values()):
            if is_tuple(value) and any(held.storage is tensor.storage for held in tensors_in(m, value)):
                facts.tuples.setdefault(id(value), (value, []))[1].append(fact)


def _note_writer(m: Trace, frame: Frame, site: Site) -> None:
    """Note the variable by which a part is written: writes before it, under another name, are to meet this one."""
    target = written_at(site.expression)
    root = root_of(target) if target is not None else None
    if isinstance(root, cst.Name) and root.value in frame.vars:
        note_variable(m, root.value, m.see(frame.vars[root.value]), frame, ())


def _is_plain(value: Value) -> bool:
    return isinstance(value, Const) or is_number(value)


def _keeps_type(m: Trace, value: Value, tensor: Tensor, depth: int = 6) -> bool:
    """Whether an operand leaves the type of a tensor of floats: a number, a truth value, the tensor itself.

    Sums and products of those as well; autocast gives other operations another type.
    """
    value, frame = m.see(value), m.stack.frames[-1]
    if not isinstance(value, Tensor):
        entry = frame.function is None or m.stack.calls[-1].node is frame.function.node
        return _is_plain(value) and (entry or value not in frame.given)  # another caller may give a tensor
    if value.storage is tensor.storage:
        return value.origin not in _COPIES and value.dtype is tensor.dtype
    made = value.made
    if made is None or made.op in _COMPARING:
        return made is not None
    plain = made.op in _PLAIN and depth > 0
    return plain and all(_keeps_type(m, operand, tensor, depth - 1) for operand in made.values)


def _is_ordered(m: Trace, tensor: Tensor) -> bool:
    """Whether a caller that has the tensor threw the result away of a call that led here."""
    calls = [call.expression for call in m.stack.calls]
    callers = [frame for frame in m.stack.frames[:-1] if any(frame.discarded is call for call in calls)]
    return any(holders.names_of(m, tensor, frame) for frame in callers)


@events.detach.listen
def note_detached(m: Trace, tensor: Tensor, site: Site) -> None:
    """Note who leads to a tensor that leaves the graph."""
    facts = _facts_at(site)
    if facts is not None and m.stack.frames:
        fact = facts.writes.setdefault(site.piece.tree.place(site.node), Fact("detach"))
        _note_holders(m, facts, tensor, fact)


@events.requires_grad.listen
def note_frozen(m: Trace, tensor: Tensor, value: bool, site: Site) -> None:
    """Note who leads to a tensor that is not to require grad any more."""
    note_detached(m, tensor, site)


@events.write_array.listen
def note_array_write(m: Trace, array: Array, form: str, site: Site, written: Written) -> None:
    """Note where an array is written to."""
    facts = _facts_at(site)
    if facts is not None and m.stack.frames:
        fact = facts.writes.setdefault(site.piece.tree.place(site.node), Fact("numpy", computed=False, shared=True))
        _note_kinds(m, m.stack.frames[-1], fact)


@events.hand_over.listen
def note_handed(m: Trace, values: Iterable[Value]) -> None:
    """Note the memory that code which is not followed may keep."""
    facts = _facts.get()
    if facts is not None:
        facts.handed.update(held.storage.memory for value in values for held in holdings.held(m, value, set()))


@events.replace_data.listen
def note_shared_data(m: Trace, tensor: Tensor, value: Value) -> None:
    """Note the memory that ``tensor.data = value`` gives to another tensor."""
    note_handed(m, (value,))


@events.decide.listen
def note_decision(m: Trace) -> None:
    """Note the calls in which a branch is left out."""
    facts = _facts.get()
    if facts is not None:
        facts.decided.update(m.stack.frames)


@events.yields.listen
def note_yielded(m: Trace, frame: Frame, made: List, values: Sequence[Value]) -> None:
    """Note the memory that whoever runs a generator may keep."""
    note_handed(m, values)


@events.append.listen
@events.store.listen
def note_kept(m: Trace, container: List | Dict, value: Value) -> None:
    """Note when a tensor is put into a container, which may stay empty on another path."""
    facts, found = _facts.get(), m.see(value)
    if facts is not None and isinstance(found, Tensor):
        facts.kept.setdefault((container, found), m.tick())


@events.call_instance.listen
def note_instance(m: Trace, instance: Object, site: Site) -> None:
    """Note whether a module that is called makes a new tensor."""
    facts = _facts_at(site)
    if facts is not None:
        place = site.piece.tree.place(site.node)
        facts.layers[place] = facts.layers.get(place, True) and _makes_new(m, instance)


def _makes_new(m: Trace, instance: Object) -> bool:
    contents = m.state.get(instance).items
    hooked = any(str(name).startswith("hooks.") for name in contents)
    if hooked or isinstance(lineage.member(instance.cls, "forward"), Function):
        return False
    if lineage.inherits(instance.cls, "torch.nn.Sequential"):  # its layers are called at the same place
        inner = iteration.elements(m, contents.get(ITEMS, NONE))[0]
        return bool(inner) and all(isinstance(m.see(layer), Object) for layer in inner)
    flag = contents.get("inplace", contents.get("init.inplace", NONE))
    names = [base.name for base in lineage.lineage(instance.cls) if isinstance(base, Ref)]
    return flag in (NONE, Const(False)) and bool(names) and is_fresh_layer(names[0])


def _note_kinds(m: Trace, frame: Frame, fact: Fact) -> None:
    for name, value in frame.vars.items():
        fact.kinds.setdefault(name, set()).update(_kinds(m, value))
        found = m.see(value)
        if isinstance(found, Tensor) and found.view is not View.NONE:
            fact.views.add(name)
        elif isinstance(found, Object):
            if _is_frozen(found.cls):
                fact.kinds[name].add(FROZEN)
            classes = [cls for cls in lineage.lineage(found.cls) if isinstance(cls, Class)]
            members = {attribute: held for cls in reversed(classes) for attribute, held in cls.members.items()}
            for attribute, held in (members | dict(m.state.get(found).items)).items():
                fact.kinds.setdefault(f"{name}.{attribute}", set()).update(_kinds(m, held))


def _is_frozen(cls: Value) -> bool:
    """Whether no attribute of an instance can be bound anew: ``NamedTuple``, ``@dataclass(frozen=True)``."""
    if lineage.inherits(cls, lineage.NAMED_TUPLE.name):
        return True
    classes = [each for each in lineage.lineage(cls) if isinstance(each, Class)]
    calls = [decorator.decorator for each in classes for decorator in getattr(each.node, "decorators", ())]
    options = [option for call in calls if isinstance(call, cst.Call) for option in call.args]
    named = [option.value for option in options if option.keyword is not None and option.keyword.value == "frozen"]
    return any(isinstance(value, cst.Name) and value.value == "True" for value in named)


def _is_custom(frame: Frame) -> bool:
    """A method of a custom function: autograd sees its arguments and results, and nothing in between."""
    function = frame.function
    return function is not None and function.kind == "static" and function.name in ("forward", "backward", "jvp")


def _kinds(m: Trace, value: Value) -> Iterator[str]:
    value = m.see(value)
    for option in [option for _, option in value.options] if isinstance(value, Choice) else [value]:
        found = m.see(option)
        yield "tuple" if is_tuple(found) else _KINDS.get(type(found), "")
        if (
            isinstance(found, Tensor)
            and found.view is View.NONE
            and m.cell(found).leaf
            and m.grad(found) is not Grad.NO
        ):
            yield LEAF


@events.read_variable.listen
def note_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Note that a variable is read, which was bound before the writes that it shows."""
    if _facts.get() is not None:
        for event in _shown(m, value, lambda guard: frame.held(name, guard)):
            own = event.frames[-1] is frame
            _note(event, name if own else ELSEWHERE)


@events.read_tuple.listen
def note_tuple(m: Trace, name: str, value: Tuple | List, frame: Frame) -> None:
    """Note that a tuple is read that was made before the writes to what it has."""
    facts = _facts.get()
    if facts is not None:
        for fact in facts.tuples.get(id(value), (value, []))[1]:
            fact.ways.add(tuple_way(name) if frame is m.stack.frames[-1] else ELSEWHERE)


@events.read_attribute.listen
def note_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note that an attribute is read, which was bound before the writes that it shows."""
    if _facts.get() is not None:
        for event in _shown(m, value, lambda _: abs(m.state[STORED].get((instance, name), 0))):
            _note(event, f".{name}")


@events.load.listen
def note_element(m: Trace, container: List | Dict, value: Value, named: bool) -> None:
    """Note that an element is read, which was put there before the writes that it shows."""
    facts = _facts.get()
    if facts is not None and isinstance(value, Tensor):
        items = m.state.get(container).items.values() if isinstance(container, Dict) else m.state.get(container).items
        shown = [item for item in map(m.see, items) if isinstance(item, Tensor) and item.storage is value.storage]
        places = sum(not holders.apart(m, item, value) for item in shown)
        stored = facts.kept.get((container, value)) or abs(m.state[STORED].get((container, value.storage), 0))
        stored = max(stored, container.time)  # a display is made of what its elements were by then
        for event in _shown(m, value, lambda _: stored):
            _note(event, ELEMENT if places < 2 else ELEMENTS)


@events.read_operand.listen
def note_operand(m: Trace, value: Value, since: int, named: bool) -> None:
    """Note that an operand or an element of a display was evaluated before a write that it shows."""
    if _facts.get() is not None and isinstance(value, Tensor):
        for event in _shown(m, value, lambda _: since):
            _note(event, ELEMENT)


def _fact_of(event: Overwrite | Refused) -> Fact | None:
    site = event.site
    facts = _facts_at(site)
    return facts.writes.get(site.piece.tree.place(site.node)) if facts is not None else None


def _facts_at(site: Site) -> Facts | None:
    """What is collected, if a place is in the file that is mended."""
    facts = _facts.get()
    return facts if facts is not None and site.piece.path == facts.path else None


def _note(event: Overwrite | Refused, way: str) -> None:
    fact = _fact_of(event)
    if fact is not None:
        fact.ways.add(way)


def _shown(m: Trace, value: Value, since: Callable[[Guard], int]) -> Iterator[Overwrite | Refused]:
    """The writes to the memory of a value since it was bound, other than to a part that it certainly has not.

    Where ``x.to(dtype)`` or ``x.contiguous()`` is written to, which may be ``x`` or a copy, nobody counts on seeing
    that in ``x``.
    """
    for guard, option in value.options if isinstance(value, Choice) else [(ALWAYS, value)]:
        found = m.see(option)
        if isinstance(found, Tensor):
            for event in _writes(m, found.storage):
                unsure = event.tensor is not found and event.tensor.origin in _COPIES
                if event.time > since(guard) and not unsure and not holders.apart(m, found, event.tensor):
                    yield event


def _writes(m: Trace, storage: Storage) -> Iterator[Overwrite | Refused]:
    """The writes to a memory, whichever version counter they went past."""
    for table in (m.state[WRITES], m.state[REFUSED]):
        for written, found in table.items():
            if written.memory is storage.memory:
                yield from found
