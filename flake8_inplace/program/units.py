"""What the prefilter knows of a function, of a class, and of what the checkers are after."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Triggers:
    """What makes a function worth reading, beside an in-place write that its text shows. Each checker has its own.

    ``names`` are methods and attributes that it asks for; with ``=`` at the end, attributes that it binds.
    ``contexts`` are functions and context managers in which a write to memory that was just made matters too.
    """

    names: frozenset[str] = frozenset()
    contexts: frozenset[str] = frozenset()

    def __or__(self, other: Triggers) -> Triggers:
        return Triggers(self.names | other.names, self.contexts | other.contexts)


@dataclass(slots=True, eq=False)
class Unit:
    """A function at the top level or in a class, or what else stands in a class or in a top-level statement.

    ``mentions`` are the names in it, ``own`` those that it looks up on ``self``, ``strings`` those that it may look up
    by a string, and ``referred`` those of all that it does not only call. ``given`` are names, each after that of a
    function which it is given to in a statement of its own. ``asked`` are attributes of ``self`` that it calls;
    ``calls_parts`` says that it calls something else that may be a part of ``self``. ``writes``: it may overwrite a
    tensor when it runs; ``alters``: one that it is given or takes out of that, or a part whose index it is given;
    ``fills``: one that it has just made, which only ``vmap`` and inference mode may mind; ``begins``: by giving
    parameters their first values; ``returns``: a value, for which that may come too late; ``makes``: it may make
    something that overwrites a tensor when it is called, as ``nn.ReLU(inplace=True)`` does. ``calls`` counts its calls,
    and twice whatever else it computes. ``loads`` are names such as ``relu_``, which overwrite if they are among those
    ``imported`` from modules of torch.
    """

    name: str
    mentions: frozenset[str]
    own: frozenset[str]
    strings: frozenset[str]
    asked: frozenset[str]
    referred: frozenset[str]
    given: frozenset[tuple[str, str]]
    calls_parts: bool
    writes: bool
    alters: bool
    fills: bool
    makes: bool
    begins: bool
    returns: bool
    calls: int
    loads: frozenset[str]
    imported: frozenset[tuple[str, str]]
    worth: bool = False
    borrowed: bool = False  # worth reading only for what other files may overwrite

    def units(self) -> Iterator[Unit]:
        yield self


@dataclass(slots=True, eq=False)
class Group:
    """A class: its methods and the classes in it, in the order of the text, and what else stands there."""

    name: str
    body: Unit
    bases: frozenset[str]
    parts: dict[ast.stmt, Unit | Group] = field(default_factory=dict)

    @property
    def methods(self) -> list[Unit]:
        return [part for part in self.parts.values() if isinstance(part, Unit)]

    def units(self) -> Iterator[Unit]:
        for part in self.parts.values():
            yield from part.units()
        yield self.body
