"""Which functions of a file can come to overwrite a tensor, judged from names alone.

A function is worth reading if it may write in place, or if it mentions something of the file that may, at any
distance, or if its class makes a module that may. Nothing that the other functions are given becomes a hazard in them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from .units import Group, Triggers, Unit

_BUILDERS = frozenset({"__init__", "__new__", "__post_init__"})
"""Methods that make an instance: nothing that other methods do comes before them."""
_RUNNERS = frozenset({"forward", "backward", "setup_context", "jvp", "vmap", "step", "run"})
"""Methods that run without being mentioned, as those with two underscores do."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How names may come to overwrite a tensor: those that ``runs`` something, and those that ``makes`` it."""

    runs: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.runs or self.makes)

    def beyond(self, others: Ways) -> Ways:
        """Return those that are not among others."""
        return Ways(self.runs - others.runs, self.makes - others.makes)


NOWAY = Ways()
_Step = tuple[Hashable, Hashable]
"""From one way of overwriting to another that it leads to."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a file's names lead to: its ``own`` ways, and for names from other files, what they add if they run or make.

    Much smaller than a `Reach`, so that those of a whole project can be kept.
    """

    own: Ways
    runs: Mapping[str, Ways]
    makes: Mapping[str, Ways]

    def needs(self, name: str) -> frozenset[str]:
        """Return the names from other files that decide what a name of the file leads to."""
        each = (*self.runs.items(), *self.makes.items())
        return frozenset(other for other, ways in each if name in ways.runs or name in ways.makes)

    def ways(self, outside: Ways) -> Ways:
        """Return the names of the file that may overwrite something, where ``outside`` are names from other files."""
        found = [self.own]
        found += [self.runs[name] for name in outside.runs.intersection(self.runs)]
        found += [self.makes[name] for name in outside.makes.intersection(self.makes)]
        runs, makes = (frozenset[str]().union(*each) for each in ((w.runs for w in found), (w.makes for w in found)))
        return Ways(runs, makes)


class Reach:
    """What is worth reading in a file: its top-level statements, each with the names that it binds."""

    def __init__(
        self, parts: Iterable[tuple[frozenset[str], Unit | Group]], triggers: Triggers, followed: frozenset[str]
    ) -> None:
        self._file = _File({}, [], [], followed)
        for names, part in parts:
            self._file.add(part, names, None)
        self._users = self._file.users()
        self._own = self._follow(set(self._begin(triggers)), frozenset())
        self._mentioning: dict[str, list[Unit]] = {}
        for unit, _ in self._file.units:
            for name in unit.mentions:
                self._mentioning.setdefault(name, []).append(unit)
        self._heirs: dict[str, list[Group]] = {}
        for group in self._file.groups:
            for name in group.bases:
                self._heirs.setdefault(name, []).append(group)

    def _begin(self, triggers: Triggers) -> Iterator[Hashable]:
        """The units that overwrite something themselves, or make what does."""
        units = self._file.units
        mentions = frozenset[str]().union(*(unit.mentions for unit, _ in units))
        minded = not mentions.isdisjoint(triggers.contexts)
        trains = not mentions.isdisjoint(("backward", "grad", "detach", "state_dict"))  # or keeps what it had
        imported = frozenset[tuple[str, str]]().union(*(unit.imported for unit, _ in units))
        first = {name for module, name in imported if module == "torch.nn.init"}
        others = {name for module, name in imported if module != "torch.nn.init"}
        kernels = {name for module, name in imported if not module.startswith("torch")}
        for unit, owner in units:
            custom = owner is not None and "Function" in owner.bases
            writes = unit.writes or (unit.fills and minded) or not others.isdisjoint(unit.loads)
            kernel = not kernels.isdisjoint(unit.mentions)
            begins = unit.begins or not first.isdisjoint(unit.loads)
            if writes or kernel or unit.makes or custom or (begins and (trains or unit.returns)):
                yield "runs", unit
            if unit.makes or kernel:
                yield "makes", unit

    def _from_outside(self, outside: Ways) -> Iterator[Hashable]:
        """The units that what other files define leads to: they mention it, or inherit from it."""
        for name in outside.runs | outside.makes:
            for group in self._heirs.get(name, ()):
                yield "instance", group
                yield "parts", group
                yield from (("runs", unit) for unit in (*group.methods, group.body))
            for unit in self._mentioning.get(name, ()):
                yield "runs", unit
                if name in outside.makes:
                    yield "makes", unit

    def _beyond(self, outside: Ways) -> set[Hashable]:
        """What names from other files lead to, beside what the file leads to by itself."""
        return self._follow(set(self._from_outside(outside)) - self._own, self._own)

    def _follow(self, begin: set[Hashable], known: Set[Hashable]) -> set[Hashable]:
        """Return some ways of overwriting and all that they lead to, but what is known."""
        seen, todo = begin, [*begin]
        while todo:
            for user in self._users.get(todo.pop(), ()):
                if user not in seen and user not in known:
                    seen.add(user)
                    todo.append(user)
        return seen

    def _ways(self, seen: Iterable[Hashable], outside: Ways = NOWAY) -> Ways:
        """Return the names of the file among some ways of overwriting."""
        names = self._file.defined
        runs, makes = {*outside.runs.intersection(names)}, {*outside.makes.intersection(names)}
        found = {"runs": (runs,), "makes": (makes,), "used": (runs, makes)}
        for way in seen:
            kind, name = way if isinstance(way, tuple) else ("", "")
            for each in found.get(kind, ()) if isinstance(name, str) and name in names else ():
                each.add(name)
        return Ways(frozenset(runs), frozenset(makes))

    def flow(self, names: Iterable[str]) -> Flow:
        """Return what the file's names lead to, if other files have no more to say about it than these names."""
        own = self._ways(self._own)
        added: list[dict[str, Ways]] = []
        for kind in ("runs", "makes"):
            outside = [(name, Ways(**{kind: frozenset((name,))})) for name in names]
            each = [(name, self._ways(self._beyond(one), one).beyond(own)) for name, one in outside]
            added.append({name: ways for name, ways in each if ways})
        return Flow(own, *added)

    def mentions(self) -> frozenset[str]:
        """Return all names in the file, but those that are looked up on ``self``."""
        return frozenset[str]().union(*(unit.mentions for unit, _ in self._file.units))

    def mark(self, outside: Ways = NOWAY, everything: bool = False) -> bool:
        """Mark the units that are worth reading; False if none is.

        ``everything`` is, where what code of other files may overwrite is asked for as well.
        """
        own = self._own
        seen = own | self._beyond(outside)
        for unit, _ in self._file.units:
            names_only = not unit.name and not unit.calls and not unit.writes  # `__all__ = ["f"]` runs nothing
            unit.worth = everything or (("runs", unit) in seen and not names_only)
            unit.borrowed = not everything and ("runs", unit) not in own
        return everything or bool(seen)


@dataclass(frozen=True, slots=True)
class _File:
    """What all names of a file may stand for, its units with their classes, and its classes.

    ``followed`` are the names that it imports from files that are read: a base class there may call any method.
    """

    defined: dict[str, list[Unit | Group]]
    units: list[tuple[Unit, Group | None]]
    groups: list[Group]
    followed: frozenset[str]

    def add(self, part: Unit | Group, names: Iterable[str], owner: Group | None) -> None:
        for name in names:
            self.defined.setdefault(name, []).append(part)
        if isinstance(part, Unit):
            self.units.append((part, owner))
            return
        self.groups.append(part)
        self.units.append((part.body, part))
        for inner in part.parts.values():
            self.add(inner, (inner.name,), part)

    def foreign(self, name: str) -> bool:
        """Whether a name is imported, from elsewhere than torch: nobody follows what it does with a function."""
        found = self.defined.get(name, ())
        return bool(found) and all(isinstance(p, Unit) and not p.mentions and not p.imported for p in found)

    def bases(self, group: Group) -> list[Group]:
        found = (other for name in group.bases for other in self.defined.get(name, ()))
        return [other for other in found if isinstance(other, Group) and other is not group]

    def families(self) -> dict[Group, int]:
        """For every class the number of those that inherit from one another with it."""
        relatives: dict[Group, list[Group]] = {group: [] for group in self.groups}
        for group in self.groups:
            for base in self.bases(group):
                relatives[group].append(base)
                relatives[base].append(group)
        found: dict[Group, int] = {}
        for number, group in enumerate(self.groups):
            todo = [group]
            while todo:
                relative = todo.pop()
                if relative not in found:
                    found[relative] = number
                    todo += relatives[relative]
        return found

    def users(self) -> dict[Hashable, list[Hashable]]:
        """From each way of overwriting to those that it leads to.

        A unit "runs" something that overwrites, or only "makes" it; of a class "parts" are what an instance is made of,
        an "instance" is what others may call, and it is "used" by other files, which look up its methods; so is a table
        with the class, and a function that returns an instance. Names stand between what defines them and what mentions
        them; those of methods a second time, with the number of their family, for what is looked up on ``self``.
        """
        users: dict[Hashable, list[Hashable]] = {}
        families = self.families()
        steps = (*self._by_name(), *self._by_mention(families), *self._by_class(families))
        for way, other in steps:
            users.setdefault(way, []).append(other)
        return users

    def _by_name(self) -> Iterator[_Step]:
        """From what is defined to its name."""
        for name, found in self.defined.items():
            for part in found:
                if isinstance(part, Unit):
                    yield from _define(name, part)
                else:
                    yield ("instance", part), ("runs", name)
                    yield ("instance", part), ("makes", name)
                    yield ("used", part), ("used", name)

    def _by_mention(self, families: dict[Group, int]) -> Iterator[_Step]:
        """From a name to the units that mention it."""
        methods = {(families[group], method.name) for group in self.groups for method in group.methods}
        for unit, owner in self.units:
            referred = unit.referred.union(name for callee, name in unit.given if not self.foreign(callee))
            outside = unit.own if owner is None else frozenset[str]()  # of a function with a parameter called `self`
            for name in unit.mentions | unit.strings | outside:
                if name in self.defined and not name.startswith("__"):
                    yield from _mention(unit, name, name in referred)
            if owner is None:
                continue
            if unit.name in _BUILDERS:  # an instance may keep what it makes, and others look up methods in that
                yield from ((("used", name), ("used", owner)) for name in unit.mentions if name in self.defined)
            family = families[owner]
            for name in unit.own | unit.strings:
                if (family, name) in methods:
                    yield from _mention(unit, (family, name), name in referred)
            if unit.calls_parts or any((family, name) not in methods for name in unit.asked):
                yield ("parts", owner), ("runs", unit)

    def _by_class(self, families: dict[Group, int]) -> Iterator[_Step]:
        """From methods to their class, and from a class to those that inherit from it."""
        for group in self.groups:
            inherits = not self.followed.isdisjoint(group.bases)
            yield ("runs", group.body), ("parts", group)
            yield ("parts", group), ("instance", group)
            for method in group.methods:
                yield from _define((families[group], method.name), method)
                if method.name in _BUILDERS:
                    yield ("makes", method), ("parts", group)
                    if method.alters:  # what its caller gives it, and may read after that
                        yield ("runs", method), ("runs", group.name)
                elif method.name in _RUNNERS or method.name.startswith("__") or inherits:
                    yield ("runs", method), ("instance", group)
                else:
                    yield ("runs", method), ("used", group)
            for base in self.bases(group):
                yield ("parts", base), ("parts", group)
                yield ("instance", base), ("instance", group)
                yield ("used", base), ("used", group)


def _define(name: Hashable, unit: Unit) -> Iterator[_Step]:
    yield ("runs", unit), ("runs", name)
    yield ("runs", unit), ("keeps", name)
    yield ("makes", unit), ("makes", name)
    yield ("used", unit), ("used", name)


def _mention(unit: Unit, name: Hashable, kept: bool) -> Iterator[_Step]:
    yield ("runs", name), ("runs", unit)
    yield ("makes", name), ("makes", unit)
    if kept:  # it runs when what is made runs
        yield ("keeps", name), ("makes", unit)
    if unit.returns or not unit.name:  # a factory, or a table: others get the class, or an instance
        yield ("used", name), ("used", unit)
