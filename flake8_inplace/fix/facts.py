"""What the analysis knows of each write that is mended, for all the times that it saw it run."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..finding import Place
from ..heap.values import Choice, Dict, List, Storage, Tensor, Value
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.log import Overwrite, Refused
from ..trace.trace import Trace

ELSEWHERE = ""
"""The way by which somebody reads who holds the tensor under another name: an alias, a base, a caller, a container."""

ELEMENT, ELEMENTS, OTHER_ELEMENT = "[]", "[][]", "[|]"
"""The ways by which an element is read: of a container that holds the tensor once, or more than once; of a container
that holds it too, and is another than the one that the write took it from."""

LEAF = "leaf"
"""What a variable is that holds a leaf which requires grad: under its name people ask for the gradient."""

FROZEN = "frozen"
"""What a variable is that holds an instance whose attributes cannot be bound anew."""

RECORD, NAMED_TUPLE = "record", "named tuple"
"""What a variable is that holds an instance of a dataclass, or of a named tuple of the program."""

SEQUENCE = "sequence"
"""What a variable is that holds a tuple of unknown length, or a list with elements that are no tensors."""


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
    - ``given``: a call was given the tensor whose result was thrown away: it was called for the write.
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
    - ``fields``: by variable, the keys and attributes under which its container holds it; an empty one for a list.
    - ``containers``: those that it took the tensor from: ``xs`` of ``xs[0].add_(1)``.
    - ``own``: one of them is of this call alone.
    - ``beside``: somebody reaches the tensor without those, or twice in one of them.
    - ``readers``: where in the file the old tensor is read afterwards, by which names, and what its memory is. Names
      of other functions begin with a ``^``.
    - ``earlier``: the other writes to it in the same call, before the first time that this one ran.
    """

    form: str
    cuts: bool = False
    leaf: bool = False
    part_of_leaf: bool = False
    carries: bool = False
    feeds: bool = False
    discarded: bool = False
    ordered: bool = False
    given: bool = False
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
    fields: dict[str, set[str]] = field(default_factory=dict)
    containers: set[List | Dict] = field(default_factory=set)
    own: bool = False
    beside: bool = False
    readers: dict[Place, set[tuple[str, Storage]]] = field(default_factory=dict)
    earlier: set[Place] = field(default_factory=set)


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


current: ContextVar[Facts | None] = ContextVar("facts", default=None)
"""What is collected at present. `writes.observed` sets it."""


def collected() -> Facts | None:
    """Return what is collected at present, if anything is."""
    return current.get()


def fact_of(event: Overwrite | Refused) -> Fact | None:
    """Return what is known of the place of a write."""
    facts = facts_at(event.site)
    return facts.writes.get(place_of(event.site)) if facts is not None else None


def place_of(site: Site) -> Place:
    """Return the place of a site in its file."""
    return site.piece.tree.place(site.node)


def facts_at(site: Site) -> Facts | None:
    """What is collected, if a place is in the file that is mended."""
    facts = current.get()
    return facts if facts is not None and site.piece.path == facts.path else None


def options(m: Trace, value: Value) -> Iterator[Value]:
    """Yield what a value may be."""
    found = m.see(value)
    yield from [m.see(option) for _, option in found.options] if isinstance(found, Choice) else [found]
