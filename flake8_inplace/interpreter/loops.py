"""``for`` and ``while``."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from ..hazards.contained import APPENDED
from ..hazards.snapshots import SNAPSHOTS
from ..heap.state import Exit
from ..heap.values import ALWAYS, NONE, Attributes, Cell, CellState, Guard, List, Tensor, Unknown, Value
from ..models import containers, iteration, lazy, modules
from ..program import wording
from ..program.nodes import has
from ..trace import events, holdings
from ..trace.frames import Frame, Loop
from ..trace.log import YIELDS
from ..trace.reports import Refusal
from ..trace.trace import Trace
from . import naming
from .binding import bind
from .conditions import condition
from .dispatch import evaluate, runs, site_of, skip, suite

ROUNDS = 4
"""The most iterations that are read of a loop with unknown length."""


@runs(cst.For)
def _for(m: Trace, node: cst.For, frame: Frame) -> bool:
    source, found = naming.waiting(m, lambda: _iterated(m, node, frame))
    begin = m.tick()
    body = lazy.suspended(m, source)
    if body is not None and not has(node.body, cst.Break, cst.Return):
        naming.tell(m, found)
        return _interleaved(m, node, source, body, frame)
    (every, complete), more = naming.waiting(m, lambda: iteration.elements(m, source))
    found += more
    items, exact = iteration.few(m, every, complete, modules.configures(frame.piece))
    if not items:
        naming.tell(m, found)
        skip(m, node.iter, node.body, frame)

    last = items[-1:]
    current: list[Value] = []

    def binding(at: int, item: Value) -> Callable[[], None]:
        same = complete and items is every
        return lambda: _begin(m, node, frame, current, iteration.present(m, source, at, item) if same else item, found)

    frame.elements |= wording.targets(node.target)

    def further() -> None:
        last[:] = [iteration.another(m, last[0])]
        _begin(m, node, frame, current, last[0], found)

    def ending() -> Guard:
        return iteration.at_end(m, last[0]) if last else ALWAYS

    rounds = [binding(at, item) for at, item in enumerate(items)]
    alive = loop(m, frame, node.body, rounds, further, node.orelse, exact, ending=ending)
    events.exhaust(m, source, begin)
    return alive


def _iterated(m: Trace, node: cst.For, frame: Frame) -> Value:
    """What a loop goes through."""
    value = evaluate(m, node.iter, frame)
    m.assume_used(value)
    return iteration.iterator(m, value, site_of(node.iter, frame))


def _begin(m: Trace, node: cst.For, frame: Frame, current: list[Value], item: Value, found: list[Refusal]) -> None:
    """Begin an iteration with a value; ``current`` has that of the iteration before, which was not the last one.

    What was ``found`` where the value was taken waits for the name that it gets.
    """
    if current and m.state.possible(before := iteration.before(m, current[0], item)):
        m.state.assume(before)
    current[:] = [item]
    bind(m, node.target, item, frame)
    naming.bound(m, [node.target], found, frame)


def _interleaved(m: Trace, node: cst.For, source: Value, body: lazy.Body, frame: Frame) -> bool:
    """Run ``for x in generator(...)``: the body of the loop runs where the generator yields."""
    frame.elements |= wording.targets(node.target)
    began: list[Value] = []

    def once(item: Value, later: bool) -> None:
        began.append(item)
        start = [lambda: bind(m, node.target, item, frame)]
        loop(m, frame, node.body, start, lambda: None, None, exact=True, later=later)

    lazy.drive(m, source, body, once)
    if not began:  # it was not read, or didn't reach a ``yield``
        once(Unknown(), False)
    return suite(m, node.orelse.body, frame) if node.orelse is not None else True


@runs(cst.While)
def _while(m: Trace, node: cst.While, frame: Frame) -> bool:
    test = condition(m, evaluate(m, node.test, frame))
    if test is False:
        return suite(m, node.orelse.body, frame) if node.orelse is not None else True

    def again() -> None:
        evaluate(m, node.test, frame)

    return loop(m, frame, node.body, [lambda: None, again], again, node.orelse, endless=test is True)


def loop(
    m: Trace,
    frame: Frame,
    body: cst.BaseSuite,
    rounds: list[Callable[[], None]],
    further: Callable[[], None],
    orelse: cst.Else | None,
    exact: bool = False,
    endless: bool = False,
    later: bool = False,
    ending: Callable[[], Guard] = lambda: ALWAYS,
) -> bool:
    """Run the iterations of a loop, each in the state that the one before left.

    If their number is not known, two more iterations follow one that makes a tensor require grad: one that saves with
    it, and one that overwrites what was saved. They also follow one that takes a snapshot of a module. One more
    follows a later one that gave a tensor to what was None, ``if best is None: best = ...``, or is the first to yield
    or to append: ``if count == size: yield buffer``. ``later``: an iteration stands for all that follow in a generator.
    ``ending`` returns what is known after the last iteration: one more follows the second if that is anything,
    ``if i < n - 1: ...``, and is the last.
    """
    state = m.state
    this = Loop(state.mark(), m.tick())
    frame.loops.append(this)
    alive, grown = True, -ROUNDS
    for number, start in enumerate(rounds):
        mark, taken = state.mark(), len(m.state[SNAPSHOTS])
        this.later = m.tick() if later or (number and not exact) else 0
        start()
        if not _iteration(m, frame, this, body, mark):
            alive = False
            break
        grown = number if not exact and (grew(m, mark) or len(m.state[SNAPSHOTS]) > taken) else grown
        if number and not exact and grown < number - 1 and (begun(m, mark) or hands_out(m, this.began, this.later)):
            grown = number - 1
        if number == 1 and not exact and grown < 0 and ending():
            grown = 0
        if number == len(rounds) - 1 < ROUNDS - 1 and number < grown + 2:
            rounds.append(further)
    frame.loops.pop()
    if not exact:
        containers.open_grown(m, this.mark)
    known = ending() if alive and not exact else ALWAYS
    if state.possible(known):
        state.assume(known)
    if alive and orelse is not None:
        alive = suite(m, orelse.body, frame)
    return _leave(m, this, alive, endless)


def _iteration(m: Trace, frame: Frame, this: Loop, body: cst.BaseSuite, mark: int) -> bool:
    """Run an iteration that began at ``mark``, and join the states of its ways to the next one: is there any?"""
    this.continues = []
    through = suite(m, body, frame)
    exits = list(this.continues)
    if exits:
        if through:
            exits.append(Exit(frozenset(), m.state.changes(mark)))
        m.state.merge(mark, exits)
    return through or bool(exits)


def _leave(m: Trace, this: Loop, alive: bool, endless: bool) -> bool:
    """Join the states of all ways out of a loop. Returns whether there is one; ``alive``: its end is reached."""
    ends = list(this.breaks)
    if not ends:
        return alive
    if alive and not endless:
        ends.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    m.state.merge(this.mark, ends)
    return True


def grew(m: Trace, mark: int) -> bool:
    """Return whether a tensor, or the value of a variable, began to require grad since ``mark``."""
    state = m.state
    for where, key, old in state.journal[mark:]:
        if isinstance(key, Cell) and where is state.store:
            before = old if isinstance(old, CellState) else key.initial
            if not before.grad and state.get(key).grad:
                return True
        elif isinstance(old, Tensor) and not m.grad(old):
            new = where.get(key)  # None in a table of a rule that has forgotten what it held
            if new is not None and holdings.reach(m, new):
                return True
    return False


def hands_out(m: Trace, began: int, since: int) -> bool:
    """Return whether a generator, or a list, older than ``began`` yields or gets its first tensors after ``since``."""
    first: dict[object, int] = {}
    for one in (one for rows in m.state[YIELDS].values() for one in rows):
        if one.frame.born < began:
            first[one.frame] = min(first.get(one.frame, one.time), one.time)
    for (container, _), time in m.state[APPENDED].items():
        if time and isinstance(container, List) and container.time < began:
            first[container] = min(first.get(container, time), time)
    return any(time > since for time in first.values())


def begun(m: Trace, mark: int) -> bool:
    """Return whether a variable or attribute that was None began to hold tensors since ``mark``."""
    for where, key, old in m.state.journal[mark:]:
        if old == NONE and key in where and any(holdings.tensors_in(m, where[key])):
            return True
        if isinstance(old, Attributes) and isinstance(new := where.get(key), Attributes):
            none = [name for name, value in old.items.items() if value == NONE]
            if any(any(holdings.tensors_in(m, new.items.get(name, NONE))) for name in none):
                return True
    return False


@runs(cst.Break)
def _break(m: Trace, node: cst.Break, frame: Frame) -> bool:
    if frame.loops:
        this = frame.loops[-1]
        this.breaks.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    return False


@runs(cst.Continue)
def _continue(m: Trace, node: cst.Continue, frame: Frame) -> bool:
    if frame.loops:
        this = frame.loops[-1]
        this.continues.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    return False
