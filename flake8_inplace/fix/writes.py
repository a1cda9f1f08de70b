"""What the analysis sees of each write: under which grad mode, to what, and who has the tensor at that moment."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import libcst as cst

from ..heap.values import (
    ITEMS,
    NONE,
    Array,
    Const,
    Dict,
    Grad,
    List,
    Object,
    Ref,
    Tensor,
    Tuple,
    Unknown,
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
from ..trace.log import EVENTS, REFUSED, Refused, Written, array_backing, given_tensors, is_record
from ..trace.trace import Trace
from . import holders, ways
from .facts import (
    FROZEN,
    LEAF,
    NAMED_TUPLE,
    RECORD,
    SEQUENCE,
    Fact,
    Facts,
    collected,
    current,
    facts_at,
    options,
    place_of,
)
from .syntax import is_fresh_layer, written_at

_COMPARING = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_PLAIN = frozenset({"add", "sub", "mul", "neg"})
_KINDS: dict[type, str] = {
    Tensor: "tensor",
    Array: "array",
    Tuple: "tuple",
    List: "list",
    Dict: "dict",
    Object: "object",
}


@contextmanager
def observed(path: str = "") -> Iterator[Facts]:
    """Collect what every analysis in the block learns of writes in a file, by their places."""
    found = Facts(path)
    token = current.set(found)
    try:
        yield found
    finally:
        current.reset(token)


@events.attempt.listen
def note_write(
    m: Trace, tensor: Tensor, form: str, site: Site, grad: Grad, refused: bool, carries: bool, written: Written
) -> None:
    """Note under which circumstances a place writes."""
    facts = facts_at(site)
    if facts is None or not m.stack.frames:
        return
    frame = m.stack.frames[-1]
    fact = facts.writes.setdefault(place_of(site), Fact(form))
    leaf = _note_graph(m, tensor, fact)
    fact.memory.add(tensor.storage.memory)
    _note_containers(m, tensor, site, fact)
    _note_earlier(m, tensor, site, fact)
    fact.carries = fact.carries or (grad is not Grad.NO and m.grad_mode)
    fact.feeds = fact.feeds or carries
    if refused and form != "out" and not leaf:  # no leaf, no buffer: a value
        _note_refused(m, tensor, site)
    fact.discarded = fact.discarded or frame.discarded is site.expression
    fact.ordered = fact.ordered or _is_ordered(m, tensor)
    fact.given = fact.given or _is_given(m, tensor)
    _note_tuples(m, facts, tensor, fact)
    ways.note_writer(m, frame, site)
    _note_holders(m, facts, tensor, fact)
    fact.shared = fact.shared or frame in facts.decided
    fact.same_type = fact.same_type and all(_keeps_type(m, value, tensor) for value in written.values)
    fact.numbers = fact.numbers and all(map(_is_plain, map(m.see, written.values)))
    _note_kinds(m, frame, fact)


def _note_graph(m: Trace, tensor: Tensor, fact: Fact) -> bool:
    """Note what a tensor is to autograd. Returns whether it is a leaf, or a part of one."""
    base = tensor.cell.base  # of a view made under `no_grad`
    requires = m.grad(tensor) is not Grad.NO or (base is not None and m.state.get(base).grad is not Grad.NO)
    fact.cuts = fact.cuts or (requires and not m.grad_mode and not any(map(_is_custom, m.stack.frames)))
    fact.of_graph = fact.of_graph or (requires and m.cell(tensor).node is not None)
    leaf = requires and m.cell(tensor).leaf
    fact.leaf = fact.leaf or (leaf and tensor.view is View.NONE)
    fact.part_of_leaf = fact.part_of_leaf or (leaf and tensor.view is not View.NONE)
    return leaf


def _note_refused(m: Trace, tensor: Tensor, site: Site) -> None:
    """Note a write that PyTorch refuses. The analysis goes on as if it had not been."""
    before, event = m.state[REFUSED].get(tensor.storage, ()), Refused(tensor, site, m.tick(), tuple(m.stack.frames))
    m.state.set(m.state[REFUSED], tensor.storage, (*before[1 - EVENTS :], event))


def _note_containers(m: Trace, tensor: Tensor, site: Site, fact: Fact) -> None:
    """Note which containers the place names, and who else in the frame has the tensor in a container or attribute."""
    frame = m.stack.frames[-1]
    containers = set(_containers(m, frame, site))
    fact.containers |= containers
    fact.own = fact.own or any(holders.is_own(m, each) for each in containers)
    fact.beside = fact.beside or (bool(containers) and holders.is_beside(m, tensor, containers))
    for name, value in frame.vars.items():
        fact.fields.setdefault(name, set()).update(_fields(m, m.see(value), tensor))


def _note_earlier(m: Trace, tensor: Tensor, site: Site, fact: Fact) -> None:
    """Note the writes of the same call that a copy here would come too late for."""
    frame, place = m.stack.frames[-1], place_of(site)
    events = [event for event in ways.writes(m, tensor.storage) if event.frames[-1] is frame]
    others = [event for event in events if facts_at(event.site) is not None]
    places = {place_of(event.site) for event in others if not holders.apart(m, event.tensor, tensor)}
    if place not in places:
        fact.earlier |= places


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


def _containers(m: Trace, frame: Frame, site: Site) -> Iterator[List | Dict]:
    """Yield the container that the text of a write takes its tensor from, if a variable or an attribute has it."""
    node: cst.CSTNode | None = written_at(site.expression)
    while isinstance(node, (cst.Subscript, cst.Attribute, cst.Call)):
        inner = node.func if isinstance(node, cst.Call) else node.value
        found = _value(m, frame, inner) if isinstance(node, cst.Subscript) else None
        yield from [found] if isinstance(found, (List, Dict)) else []
        node = inner


def _value(m: Trace, frame: Frame, node: cst.CSTNode) -> Value | None:
    """The value of ``x`` or ``self.x.y``, where nothing has to be run to know it."""
    found = frame.vars.get(node.value) if isinstance(node, cst.Name) else None
    if isinstance(node, cst.Attribute):
        owner = _value(m, frame, node.value)
        found = m.state.get(owner).items.get(node.attr.value) if isinstance(owner, Object) else None
    return m.see(found) if found is not None else None


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
        return value.origin not in ways.COPIES and value.dtype is tensor.dtype
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


def _is_given(m: Trace, tensor: Tensor) -> bool:
    """Whether a call that led here, and whose result was thrown away, was given the tensor."""
    calls = [call.expression for call in m.stack.calls]
    for caller, called in itertools.pairwise(m.stack.frames):
        if any(caller.discarded is call for call in calls):
            given = [held for value in called.given for held in given_tensors(m, value, NONE)]
            if any(held.storage is tensor.storage for held in given):
                return True
    return False


@events.detach.listen
def note_detached(m: Trace, tensor: Tensor, site: Site) -> None:
    """Note who leads to a tensor that leaves the graph."""
    facts = facts_at(site)
    if facts is not None and m.stack.frames:
        fact = facts.writes.setdefault(place_of(site), Fact("detach"))
        _note_holders(m, facts, tensor, fact)


@events.requires_grad.listen
def note_frozen(m: Trace, tensor: Tensor, value: bool, site: Site) -> None:
    """Note who leads to a tensor that is not to require grad any more."""
    note_detached(m, tensor, site)


@events.write_array.listen
def note_array_write(m: Trace, array: Array, form: str, site: Site, written: Written) -> None:
    """Note where an array is written to."""
    facts = facts_at(site)
    if facts is not None and m.stack.frames:
        fact = facts.writes.setdefault(place_of(site), Fact("numpy", computed=False, shared=True))
        fact.names |= holders.names_of(m, array.tensor, m.stack.frames[-1])
        fact.given = fact.given or _is_given(m, array.tensor)
        _note_kinds(m, m.stack.frames[-1], fact)


@events.hand_over.listen
def note_handed(m: Trace, values: Iterable[Value]) -> None:
    """Note the memory that code which is not followed may keep."""
    facts = collected()
    if facts is not None:
        facts.handed.update(held.storage.memory for value in values for held in holdings.held(m, value, set()))


@events.replace_data.listen
def note_shared_data(m: Trace, tensor: Tensor, value: Value) -> None:
    """Note the memory that ``tensor.data = value`` gives to another tensor."""
    note_handed(m, (value,))


@events.decide.listen
def note_decision(m: Trace) -> None:
    """Note the calls in which a branch is left out."""
    facts = collected()
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
    facts, found = collected(), m.see(value)
    if facts is not None and isinstance(found, Tensor):
        facts.kept.setdefault((container, found), m.tick())


@events.call_instance.listen
def note_instance(m: Trace, instance: Object, site: Site) -> None:
    """Note whether a module that is called makes a new tensor."""
    facts = facts_at(site)
    if facts is not None:
        place = place_of(site)
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
        found = array_backing(m.see(value))
        if isinstance(found, Tensor):
            if found.view is not View.NONE:
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
    for found in options(m, value):
        yield "tuple" if is_tuple(found) else _KINDS.get(type(found), "")
        if isinstance(found, List) and not _is_list_of_tensors(m, found):
            yield SEQUENCE
        if is_record(found) and isinstance(found, Object):
            yield NAMED_TUPLE if lineage.inherits(found.cls, lineage.NAMED_TUPLE.name) else RECORD
        if (
            isinstance(found, Tensor)
            and found.view is View.NONE
            and m.cell(found).leaf
            and m.grad(found) is not Grad.NO
        ):
            yield LEAF


def _is_list_of_tensors(m: Trace, value: List) -> bool:
    """Whether no element of a list is known to be anything else, and it is no tuple of unknown length."""
    every = (found for item in m.state.get(value).items for found in options(m, item))
    return not value.fixed and all(isinstance(found, (Tensor, Unknown)) for found in every)


def _fields(m: Trace, value: Value, tensor: Tensor) -> Iterator[str]:
    """Yield the keys and attributes under which a container holds a tensor; an empty one for an element of a list."""
    if isinstance(value, List):
        held = [("", item) for item in m.state.get(value).items]
    elif isinstance(value, Dict) or (isinstance(value, Object) and is_record(value)):
        held = [(key, item) for key, item in m.state.get(value).items.items() if isinstance(key, str)]
    else:
        return
    for key, item in held:
        found = m.see(item)
        if isinstance(found, Tensor) and found.storage.memory is tensor.storage.memory:
            yield key
