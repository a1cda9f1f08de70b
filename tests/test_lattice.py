"""Laws of the state: how its tables are joined where paths meet, and how they are rolled back.

Joined values are compared by what they mean in each *world*, an assignment of a truth value to every symbol: a join is
right if each world finds after it what the path through that world had.
"""

import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_flow import BLOCKS
from test_programs import IMPORTS, programs

import flake8_inplace.interpreter.schedule  # noqa: F401 - with it, every module that declares a table
from flake8_inplace.analysis import analyze
from flake8_inplace.heap import join
from flake8_inplace.heap.autograd import graph
from flake8_inplace.heap.state import DECLARATIONS, Declared, State, Table, latest, moments, spread, variables
from flake8_inplace.heap.values import (
    ALWAYS,
    Attributes,
    Cell,
    CellState,
    Choice,
    Const,
    Grad,
    Guard,
    Items,
    Node,
    Ref,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from flake8_inplace.interpreter import dispatch, flow, functions, loops

pytestmark = pytest.mark.skipif(
    not str(join.__file__).endswith(".py"),
    reason="puts stand-ins in place of values and functions, which native code does not take; the source is the same",
)

SYMBOLS = [Unknown(scalar=True) for _ in range(2)]  # no more than four paths: a choice forgets options beyond `CHOICES`
World = dict[Unknown, bool]
WORLDS: list[World] = [
    dict(zip(SYMBOLS, truths, strict=True)) for truths in product([True, False], repeat=len(SYMBOLS))
]
NODES = [Node(name, (), ()) for name in ("relu", "exp", "mul")]
TENSORS = [Tensor() for _ in range(3)]
ATOMS: list[Value] = [
    *TENSORS,
    Unknown(),
    Const(1),
    Const(True),
    Const(None),
    Const(0.5),
    Ref("torch.relu"),
    Tuple((TENSORS[0],)),
]
ABSENT = "absent"

laws = settings(max_examples=50, deadline=None, derandomize=True)


# What values mean


def holds(guard: Guard, world: World) -> bool:
    return all(world[symbol] is truth for symbol, truth in guard)


def options_in(value: Value, world: World) -> frozenset[Any]:
    """What a value may be in a world. ``ABSENT`` is among it for a choice with a single option."""
    if isinstance(value, Choice):
        found = [options_in(option, world) for guard, option in value.options if holds(guard, world)]
        return frozenset().union(*found, {ABSENT} if len(value.options) == 1 else ())
    return frozenset({(type(value.value), value.value) if isinstance(value, Const) else value})


def meaning(thing: Any, world: World) -> Any:
    """What an entry of a table means in a world; two entries that mean the same are interchangeable."""
    if isinstance(thing, CellState):
        origins = {node for node in graph(thing.node) if node.op != "phi"}
        return thing.grad, frozenset(origins), thing.leaf
    if isinstance(thing, Items):
        return [options_in(item, world) for item in thing.items], thing.open, dict(thing.picked)
    if isinstance(thing, Attributes):
        return {name: options_in(item, world) for name, item in thing.items.items()}, thing.open
    return options_in(thing, world)


def exactly(thing: Any, world: World) -> Any:
    """The meaning of an entry that is no value."""
    return thing


def saves_made(thing: Any, world: World) -> Any:
    """What the program may have saved in a world, of the saves of an entry."""
    return frozenset(saved for saved in thing if holds(saved.guard, world))


def whens(thing: Any, world: World) -> Any:
    """The times that an entry may mean in a world."""
    return frozenset(time for guard, time in spread(thing) if holds(guard, world))


def unordered(thing: tuple[Any, ...], world: World) -> Any:
    """The meaning of a tuple that stands for a set."""
    assert len(set(thing)) == len(thing)
    return frozenset(thing)


def mode(thing: Any, world: World) -> Any:
    """The meaning of a mode: absent and off are one."""
    return thing or False


# Values as they occur


@dataclass(frozen=True, eq=False)
class Happened:
    """An event of a log."""

    time: int


@dataclass(frozen=True, eq=False)
class Kept:
    """What an operator saved, on the paths of a guard."""

    guard: Guard


@dataclass
class Fork:
    """Paths that come from one test: ``first`` where the symbol is true, ``second`` where it is not."""

    symbol: Unknown
    first: Any
    second: Any


EVENTS = [Happened(time) for time in range(1, 6)]
SAVES = [Kept(guard) for guard in (ALWAYS, *(frozenset({(SYMBOLS[0], truth)}) for truth in (True, False)))]
STORAGES = [Storage() for _ in range(3)]

atoms = st.sampled_from(ATOMS)


def forks(leaves: st.SearchStrategy[Any], symbols: int = len(SYMBOLS)) -> st.SearchStrategy[Any]:
    """Paths through nested tests, each symbol tested once on a path."""
    if not symbols:
        return leaves
    inner = forks(leaves, symbols - 1)
    return leaves | st.builds(Fork, st.just(SYMBOLS[symbols - 1]), inner, inner)


def paths(tree: Any, guard: Guard = ALWAYS) -> Iterator[tuple[Guard, Any]]:
    """Every path with the entry at its end."""
    if isinstance(tree, Fork):
        yield from paths(tree.first, guard | {(tree.symbol, True)})
        yield from paths(tree.second, guard | {(tree.symbol, False)})
    else:
        yield guard, tree


def nested(tree: Any, joined: Callable[[Any], Any]) -> Any:
    """The entries of a tree, joined fork by fork from the inside, as a program does it."""
    if not isinstance(tree, Fork):
        return tree
    sides = [((tree.symbol, True), tree.first), ((tree.symbol, False), tree.second)]
    options = [(frozenset({test}), nested(side, joined)) for test, side in sides]
    return options[0][1] if options[0][1] is options[1][1] else joined(options)


def log(events: list[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.sets(st.sampled_from(events)).map(lambda found: tuple(event for event in events if event in found))


values = forks(atoms).map(lambda tree: nested(tree, join.choose))
cells = st.builds(CellState, st.sampled_from(Grad), st.sampled_from([None, *NODES]), st.booleans())
lists = st.builds(Items, st.lists(atoms, max_size=3).map(tuple), st.booleans())
attributes = st.builds(Attributes, st.fixed_dictionaries({"a": atoms, "b": atoms}), st.booleans())
few_attributes = st.builds(Attributes, st.dictionaries(st.sampled_from("ab"), atoms, max_size=2), st.booleans())
times = st.integers(-5, 5)  # negative: marked
agreed = st.sampled_from([None, *TENSORS])


#: Every table that some module declares, by its name there.
DECLARED: dict[str, Declared[Any, Any]] = {
    name: found
    for module in [module for path, module in sys.modules.items() if path.startswith("flake8_inplace.")]
    for name, found in vars(module).items()
    if isinstance(found, Declared)
}


@dataclass(frozen=True)
class Law:
    """Entries of one table as they occur, what an entry means, and the join of the table."""

    entries: st.SearchStrategy[Any]
    meaning: Callable[[Any, World], Any] = exactly
    table: Callable[[], Table[Any, Any]] | None = None

    def join(self, name: str) -> Callable[[Any], Any]:
        return self.table().join if self.table is not None else DECLARED[name].join


LAWS = {
    "store: cells": Law(cells, meaning, lambda: State().store),
    "store: saves": Law(st.frozensets(st.sampled_from(SAVES)), saves_made, lambda: State().store),
    "store: lists": Law(lists, meaning, lambda: State().store),
    "store: attributes": Law(attributes, meaning, lambda: State().store),
    "store: unknown values": Law(atoms, meaning, lambda: State().store),
    "modes: flags": Law(st.sampled_from([True, False, None]), mode, lambda: State().modes),
    "modes: packing": Law(st.sampled_from(["share", "copy", False, None]), mode, lambda: State().modes),
    "variables": Law(atoms, meaning, variables),
    "times": Law(times, whens, moments),
    "GRAD_TESTS": Law(st.frozensets(st.sampled_from(SYMBOLS))),
    "BATCHED": Law(st.booleans()),
    "MODULES": Law(st.booleans()),
    "OPTIMIZERS": Law(st.booleans()),
    "UNREAD": Law(agreed),
    "BODIES": Law(agreed),
    "VIEWED": Law(agreed),
    "ZIPPED": Law(agreed),
    "PENDING": Law(log(EVENTS), unordered),
    "SECOND_BACKWARD": Law(log(EVENTS), unordered),
    "FREED": Law(agreed),
    "RESUMED": Law(agreed),
    "WRITES": Law(log(EVENTS)),
    "REFUSED": Law(log(EVENTS)),
    "STORED": Law(times),
    "ATTRIBUTE_WRITERS": Law(agreed),
    "RETURNED": Law(agreed),
    "YIELDS": Law(log(EVENTS)),
    "RESCALED": Law(agreed),
    "READ": Law(times),
    "LOCAL": Law(agreed),
    "REQUIRING": Law(agreed),
    "FROZEN": Law(times),
    "MARKED": Law(agreed),
    "HOLDERS": Law(agreed),
    "MADE": Law(agreed),
    "RESTRIDED": Law(agreed),
    "HOOKS": Law(log(EVENTS), unordered),
    "UPDATES": Law(log(EVENTS)),
    "SNAPSHOTS": Law(agreed),
    "STALE_SNAPSHOTS": Law(agreed),
    "COPIED": Law(times),
    "INDEXED": Law(times),
    "ORIGINALS": Law(times),
    "LIST_COPIES": Law(st.frozensets(st.sampled_from(EVENTS))),
    "BOUND_AGAIN": Law(st.frozensets(st.sampled_from(EVENTS))),
    "SUPERSEDED": Law(times),
    "SHALLOW": Law(times),
    "CALLED": Law(times),
    "CALLED_WITHOUT_GRAD": Law(times),
    "TWINS": Law(agreed),
    "APPENDED": Law(times),
    "PUT": Law(times),
    "APPENDED_VIEWS": Law(times),
    "STORED_UNDER": Law(agreed),
    "FOUND": Law(st.frozensets(st.sampled_from(EVENTS))),
    "PLACES": Law(times),
    "KEYED": Law(times),
    "ASKED": Law(agreed),
    "BY_KEY": Law(agreed),
    "UPDATED": Law(st.frozensets(st.sampled_from(EVENTS))),
    "SHOWN": Law(st.frozensets(st.sampled_from(EVENTS))),
    "PAIRED": Law(agreed),
    "TABLED": Law(times),
    "PUT_IN": Law(times),
    "TAKEN_OUT": Law(agreed),
    "REACHED_BY": Law(agreed),
    "WRITTEN_IN": Law(st.frozensets(st.sampled_from(EVENTS))),
    "MOVABLE": Law(st.frozensets(st.sampled_from(EVENTS))),
    "HANDED_BACK": Law(times),
    "PASSED_ON": Law(times),
    "USED": Law(times),
    "SEEN": Law(times),
    "READING": Law(agreed),
    "GIVEN_OUT": Law(agreed),
    "KEEPERS": Law(agreed),
    "KEPT": Law(agreed),
    "WAITED": Law(times),
    "LAST_READ": Law(times),
    "COMMANDS": Law(agreed),
    "LAST_USED": Law(times),
    "UNSURE": Law(times),
    "MOVED": Law(agreed),
    "GRADIENTS": Law(agreed),
    "LOADED": Law(agreed),
    "STEPPED": Law(agreed),
    "STEPPED_ON": Law(agreed),
    "CACHED": Law(agreed),
    "DEFAULTS": Law(agreed),
    "SHARERS": Law(st.frozensets(st.sampled_from(EVENTS))),
    "SHARED": Law(agreed),
    "UNCOUNTED": Law(st.frozensets(st.sampled_from(EVENTS))),
    "NAMED": Law(st.frozensets(st.sampled_from(EVENTS))),
    "PARTS": Law(agreed),
    "LIES_IN": Law(agreed),
    "MERGED": Law(agreed),
    "SUMS": Law(agreed),
    "PART": Law(agreed),
    "TIED": Law(agreed),
    "READER": Law(agreed),
    "CHOSEN": Law(agreed),
    "UNDONE": Law(agreed),
    "NUMBERS": Law(agreed),
    "TRAINED": Law(st.frozensets(st.sampled_from(EVENTS))),
}
each_table = pytest.mark.parametrize("name", LAWS)


def means(law: Law, entry: Any) -> list[Any]:
    return [law.meaning(entry, world) for world in WORLDS]


def test_every_table_has_a_law() -> None:
    assert set(DECLARED.values()) == set(DECLARATIONS)
    assert DECLARED.keys() == {name for name, law in LAWS.items() if law.table is None}


# Joins, entry by entry


@each_table
@laws
@given(data=st.data())
def test_commutative(name: str, data: st.DataObject) -> None:
    law = LAWS[name]
    options = list(paths(data.draw(forks(law.entries))))
    shuffled = data.draw(st.permutations(options))
    joined = law.join(name)
    assert means(law, joined(options)) == means(law, joined(shuffled))


@each_table
@laws
@given(data=st.data())
def test_associative(name: str, data: st.DataObject) -> None:
    """Joining fork by fork, as nested branches do, comes to the same as joining all paths at once."""
    law = LAWS[name]
    tree = data.draw(forks(law.entries))
    joined = law.join(name)
    assert means(law, nested(tree, joined)) == means(law, joined(list(paths(tree))))


@each_table
@laws
@given(data=st.data())
def test_idempotent(name: str, data: st.DataObject) -> None:
    """What all paths agree on stays, also where each of them has made an equal copy."""
    law = LAWS[name]
    entry = data.draw(law.entries)
    fresh = copy.copy if isinstance(entry, CellState | Items | Attributes) else lambda it: it  # others have identity
    options = [(guard, fresh(entry)) for guard, _ in paths(data.draw(forks(st.none())))]
    assert means(law, law.join(name)(options)) == means(law, entry)


@each_table
@laws
@given(data=st.data())
def test_joined_twice(name: str, data: st.DataObject) -> None:
    """Joining what is joined already with any of what went into it changes nothing more: a join is an upper bound."""
    law, joined = LAWS[name], LAWS[name].join(name)
    options = [(ALWAYS, entry) for entry in data.draw(st.lists(law.entries, min_size=1, max_size=3))]
    bound = joined(options)
    again = joined([(ALWAYS, bound), data.draw(st.sampled_from(options))])
    assert means(law, again) == means(law, bound)


@laws
@given(tree=forks(values))
def test_choose_keeps_what_each_world_had(tree: Any) -> None:
    """A world finds what its path had and nothing else, also where guards of the values meet those of the paths."""
    options = list(paths(tree))
    found = join.choose(options)
    for world in WORLDS:
        expected = frozenset().union(*(options_in(value, world) for guard, value in options if holds(guard, world)))
        assert options_in(found, world) == expected


@laws
@given(entries=st.lists(forks(atoms, 1).map(lambda tree: nested(tree, join.choose)), min_size=1, max_size=3))
def test_choose_among_paths_that_are_not_told_apart(entries: list[Value]) -> None:
    """Such as the ways out of a loop: a world finds what any of them had."""
    found = join.choose([(ALWAYS, entry) for entry in entries])
    for world in WORLDS:
        assert options_in(found, world) == frozenset().union(*(options_in(entry, world) for entry in entries))


@laws
@given(tree=forks(few_attributes))
def test_attributes_that_some_paths_lack(tree: Any) -> None:
    """Each world that has an attribute finds what it had; what the others find is not specified."""
    options = list(paths(tree))
    for found in (join.join_state(options), nested(tree, join.join_state)):
        for guard, entry in options:
            for world in [world for world in WORLDS if holds(guard, world)]:
                for name, value in entry.items.items():
                    assert options_in(found.items[name], world) == options_in(value, world)


@laws
@given(entries=st.lists(atoms, min_size=1, max_size=3), present=st.booleans())
def test_choose_knows_of_paths_without_a_value(entries: list[Value], present: bool) -> None:
    """A choice with a single option says that there may be none; with more of them that is not kept."""
    found = join.choose([(ALWAYS, entry) for entry in entries], partial=not present)
    several = len(frozenset().union(*(options_in(entry, WORLDS[0]) for entry in entries))) > 1
    assert (ABSENT in options_in(found, WORLDS[0])) == (not present and not several)


def test_idempotent_for_indices_of_a_list() -> None:
    entry = Items((TENSORS[0], TENSORS[1]), False, {Unknown(): 0})
    options = [(frozenset({(SYMBOLS[0], truth)}), copy.copy(entry)) for truth in (True, False)]
    assert means(LAWS["store: lists"], join.join_state(options)) == means(LAWS["store: lists"], entry)


@laws
@given(earlier=st.lists(times), later=st.lists(times))
def test_a_path_without_the_moment_wins(earlier: list[int], later: list[int]) -> None:
    """What did not happen on one of the paths may not have happened."""
    assert latest([(ALWAYS, time) for time in [*earlier, 0, *later]]) == 0


# Joins, state by state


@dataclass(frozen=True)
class Set:
    """A statement that changes one entry."""

    table: str
    key: Any
    value: Any


CELLS = [Cell(), Cell(Grad.YES)]
OPAQUE = [Unknown(), Unknown()]
statements = (
    st.builds(Set, st.just("vars"), st.sampled_from("xy"), atoms)
    | st.builds(Set, st.just("store"), st.sampled_from(OPAQUE), atoms)
    | st.builds(Set, st.just("store"), st.sampled_from(CELLS), cells)
    | st.builds(Set, st.just("modes"), st.just("grad"), st.booleans())
    | st.builds(Set, st.just("PENDING"), st.just("saved"), log(EVENTS))
)
blocks = st.recursive(
    st.lists(statements, max_size=3),
    lambda inner: st.lists(statements | st.builds(Fork, st.sampled_from(SYMBOLS), inner, inner), max_size=4),
    max_leaves=8,
)


class Program:
    """A state and one frame, in which statements run on all paths at once."""

    def __init__(self) -> None:
        self.state, self.vars = State(), variables()
        self.tables: dict[str, Table[Any, Any]] = {
            "vars": self.vars,
            "store": self.state.store,
            "modes": self.state.modes,
            "PENDING": self.state[DECLARED["PENDING"]],
        }

    def run(self, block: list[Any]) -> bool:
        for node in block:
            if isinstance(node, Set):
                self.state.set(self.tables[node.table], node.key, node.value)
            else:
                arms = [
                    (frozenset({(node.symbol, truth)}), arm)
                    for truth, arm in ((True, node.first), (False, node.second))
                ]
                trace = SimpleNamespace(state=self.state, assume=self.state.assume)
                flow.fork(trace, [(guard, partial(self.run, arm)) for guard, arm in arms])
        return True

    def copied(self) -> list[dict[Any, Any]]:
        return [dict(table) for table in (*self.state.tables(), self.vars)]


def concretely(block: list[Any], world: World, found: dict[tuple[str, Any], Any]) -> dict[tuple[str, Any], Any]:
    """What each entry is after the one path that a world takes."""
    for node in block:
        if isinstance(node, Set):
            found[node.table, node.key] = node.value
        else:
            concretely(node.first if world[node.symbol] else node.second, world, found)
    return found


@laws
@given(block=blocks)
def test_each_world_finds_what_its_path_left(block: list[Any]) -> None:
    program = Program()
    program.run(block)
    for world in WORLDS:
        for (table, key), value in concretely(block, world, {}).items():
            found = program.tables[table][key]
            if table == "modes":
                assert found >= value
            elif table == "PENDING":
                assert set(found) >= set(value)
            elif isinstance(value, CellState):
                assert found.grad >= value.grad
                assert found.leaf <= value.leaf
                assert set(graph(found.node)) >= set(graph(value.node))
            else:
                assert options_in(found, world) == options_in(value, world)


@laws
@given(before=blocks, speculative=blocks)
def test_rolled_back(before: list[Any], speculative: list[Any]) -> None:
    program = Program()
    program.run(before)
    mark, copied = program.state.mark(), program.copied()
    program.state.guard()
    program.run(speculative)
    program.state.assume(frozenset({(SYMBOLS[0], True)}))
    program.state.guard()
    program.state.rollback(mark)
    assert program.copied() == copied
    assert program.state.guard() == frozenset(program.state.path.items())


# Rolling back what programs do

SPECULATIONS = 30
"""Most bodies of one program that are run, rolled back and run again."""


class Speculation:
    """Runs each body twice: once to be rolled back, which must leave every table as it was, and once for good."""

    def __init__(self, run: Callable[..., bool]) -> None:
        self.run = run
        self.done, self.busy, self.changed = 0, False, 0

    def __call__(self, m: Any, body: Any, frame: Any) -> bool:
        if not self.busy and self.done < SPECULATIONS:
            self.done += 1
            self.busy = True
            try:
                self.speculate(m, body, frame)
            finally:
                self.busy = False
        return self.run(m, body, frame)

    def speculate(self, m: Any, body: Any, frame: Any) -> None:
        state = m.state
        frames = [each for each in {id(f): f for f in [*m.stack.frames, frame]}.values() if each.function is not None]
        tables = [*state.tables(), *(table for each in frames for table in (each.vars, each.times))]
        before = [dict(table) for table in tables]
        mark, ended = state.mark(), frame.ended
        ways = [
            frame.exits,
            *(each.breaks for each in (*frame.loops, *frame.tries)),
            *(e.continues for e in frame.loops),
        ]
        lengths = [len(way) for way in ways]
        self.run(m, body, frame)
        self.changed += len(state.journal) > mark
        for way, length in zip(ways, lengths, strict=True):
            del way[length:]
        frame.ended = ended
        assert m.state is state
        state.rollback(mark)
        for table, old in zip(tables, before, strict=True):
            loaded = {key: value for key, value in table.items() if m.work.module_state.get(key, key) is value}
            assert {key: value for key, value in table.items() if key in old or key not in loaded} == old
        assert state.guard() == frozenset(state.path.items())


SOURCES = [IMPORTS + program.text for program in programs()] + [block.source for block in BLOCKS]


@pytest.mark.parametrize("number", range(8))
def test_bodies_are_rolled_back(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = 0
    for source in SOURCES[number::8]:
        speculation = Speculation(dispatch.suite)
        for module in (flow, functions, loops):
            monkeypatch.setattr(module, "suite", speculation)
        analyze(source)
        changed += speculation.changed
    assert changed > len(SOURCES) // 8
