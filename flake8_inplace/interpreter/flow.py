"""Branches, ``return``, ``raise`` and ``try``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from ..hazards import snapshots
from ..hazards.snapshots import STALE_SNAPSHOTS, UPDATES
from ..heap.join import choose
from ..heap.state import Exit
from ..heap.values import NONE, Choice, Guard, Object, Unknown, Value
from ..models import lineage
from ..program.nodes import has
from ..program.site import Site
from ..trace import events
from ..trace.frames import Frame, Loop
from ..trace.log import STORED
from ..trace.needs import note_test
from ..trace.trace import MODULES, Trace
from .binding import bind
from .conditions import condition
from .dispatch import block, evaluate, runs, skip, statement, suite
from .names import quietly

EXITS = 64
"""The most ``return`` statements of one call that are followed."""


@runs(cst.SimpleStatementLine)
def _simple_line(m: Trace, node: cst.SimpleStatementLine, frame: Frame) -> bool:
    return block(m, node.body, frame)


@runs(cst.If)
def _if(m: Trace, node: cst.If, frame: Frame) -> bool:
    test = condition(m, evaluate(m, node.test, frame))
    if isinstance(test, bool):
        events.decide(m)
        skip(m, node.test, node.orelse if test else node.body, frame)
        return suite(m, node.body, frame) if test else _otherwise(m, node, frame)
    arms: list[tuple[Guard | None, Callable[[], bool]]]
    arms = [(test.true, partial(suite, m, node.body, frame)), (test.false, partial(_otherwise, m, node, frame))]
    refused = _raises(node.body), isinstance(node.orelse, cst.Else) and _raises(node.orelse.body)
    note_test(m, Site(frame.piece, node, node.test), (test.true, test.false), refused)
    stale = _stale_snapshots(m, node.body, frame) if m.state[UPDATES] and node.orelse is None else {}
    alive = fork(m, arms)
    for name, update in stale.items():
        m.state.set(m.state[STALE_SNAPSHOTS], name, update)
    return alive


def _otherwise(m: Trace, node: cst.If, frame: Frame) -> bool:
    """Run what follows if the test is false."""
    if type(node.orelse) is cst.If:
        return statement(m, node.orelse, frame)
    return suite(m, node.orelse.body, frame) if node.orelse is not None else True


def _raises(body: cst.BaseSuite) -> bool:
    """Return whether a branch ends with a ``raise``."""
    last = body.body[-1] if body.body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)


def _stale_snapshots(m: Trace, body: cst.BaseSuite, frame: Frame) -> dict[tuple[Frame | Object, str], Site]:
    """Return the holders that a conditional ``best = model`` doesn't change, each with the update since it was bound.

    ``best`` is ``model`` already, which has been trained since: neither branch has a snapshot.
    """
    found = {}
    for line in body.body:
        node = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
        for target, value in _bound(node) if isinstance(node, cst.Assign) else ():
            module = m.see(quietly(m, value, frame)) if isinstance(value, (cst.Name, cst.Attribute)) else NONE
            if module in m.state[MODULES] or (isinstance(module, Object) and lineage.is_module(module.cls)):
                owner, name, before, time = _holder(m, target, frame)
                update = snapshots.update_since(m, time)
                options = [option for _, option in before.options] if isinstance(before, Choice) else [before]
                if update is not None and module in options:
                    found[owner, name] = update
    return found


def _bound(node: cst.Assign) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Return the targets of an assignment with their values, one by one in ``best, least = model, loss``."""
    target, value = node.targets[0].target, node.value
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        pairs = zip(target.elements, value.elements, strict=True)
        return [(one.value, other.value) for one, other in pairs]
    return [(target, value)]


def _holder(m: Trace, target: cst.BaseExpression, frame: Frame) -> tuple[Frame | Object, str, Value, int]:
    """Return the owner and name of a variable or attribute, its value, and when it was bound."""
    if isinstance(target, cst.Name):
        return frame, target.value, frame.vars.get(target.value, NONE), frame.bound(target.value)
    owner = m.see(quietly(m, target.value, frame)) if isinstance(target, cst.Attribute) else NONE
    if isinstance(target, cst.Attribute) and isinstance(owner, Object):
        name = target.attr.value
        return owner, name, m.state.get(owner).items.get(name, NONE), abs(m.state[STORED].get((owner, name), m.clock))
    return frame, "", NONE, m.clock


def fork(m: Trace, arms: list[tuple[Guard | None, Callable[[], bool]]]) -> bool:
    """Run branches from the same state, each under its guard, and merge those whose end is reached.

    Return whether control reaches the end of any.
    """
    mark, exits = m.state.mark(), list[Exit]()
    for guard, arm in arms:
        if guard is not None and not m.state.possible(guard):
            continue
        m.assume(guard or frozenset())
        if arm():
            if not exits and arm is arms[-1][1]:
                return True
            exits.append(Exit(guard or frozenset(), m.state.changes(mark)))
        m.state.rollback(mark)
    if exits:
        m.state.merge(mark, exits)
    return bool(exits)


@runs(cst.Return)
def _return(m: Trace, node: cst.Return, frame: Frame) -> bool:
    return leave(m, node, evaluate(m, node.value, frame) if node.value is not None else NONE, frame)


def leave(m: Trace, node: cst.BaseSmallStatement, value: Value, frame: Frame) -> bool:
    """Leave a function with a value at this statement. Control does not reach the next one."""
    if node is frame.last:
        frame.exits.append(Exit(m.state.guard(), {}, value))
        frame.ended = True
    elif len(frame.exits) < EXITS:
        frame.exits.append(Exit(m.state.guard(), m.state.changes(frame.mark), value))
    return False


@runs(cst.Raise)
def _raise(m: Trace, node: cst.BaseSmallStatement, frame: Frame) -> bool:
    if frame.tries:
        this = frame.tries[-1]
        this.breaks.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    return False


@runs(cst.Assert)
def _assert(m: Trace, node: cst.Assert, frame: Frame) -> bool:
    test = condition(m, evaluate(m, node.test, frame))
    if isinstance(test, bool):
        return test or _raise(m, node, frame)
    note_test(m, Site(frame.piece, node, node.test), (test.true, test.false), (False, True))
    m.assume(test.true)
    return True


def _finally(m: Trace, body: cst.BaseSuite, frame: Frame, returned: int) -> None:
    """Run a ``finally`` for the ``return`` statements inside its ``try``: the exits after the first ``returned``."""
    exits = frame.exits[returned:]
    if not exits:
        return
    state = m.state
    through = Exit(state.guard(), state.changes(frame.mark))
    state.merge(frame.mark, exits)
    if suite(m, body, frame):
        value = choose([(way.guard, way.value) for way in exits])
        frame.exits[returned:] = [Exit(state.guard(), state.changes(frame.mark), value)]
    else:  # it has a ``return`` of its own
        del frame.exits[returned : returned + len(exits)]
    state.merge(frame.mark, [through])


@runs(cst.Try, cst.TryStar)
def _try(m: Trace, node: cst.Try | cst.TryStar, frame: Frame) -> bool:
    """Run the body, then each handler from the join of the states at which the body may raise."""
    state, failed = m.state, Unknown(scalar=True)
    this, returned = Loop(state.mark(), m.tick()), len(frame.exits)
    whole, caught = frozenset({(failed, False)}), frozenset({(failed, True)})
    frame.tries.append(this)
    if node.handlers and not has(node.body, cst.Raise):
        state.assume(whole)  # where nothing says when the body raises, it does nothing before it does
    alive = suite(m, node.body, frame)
    frame.tries.pop()
    if alive and node.orelse is not None:
        alive = suite(m, node.orelse.body, frame)
    exits = [Exit(whole, state.changes(this.mark))] if alive else []
    for handler in node.handlers:
        state.merge(this.mark, [*this.breaks, Exit(frozenset(), {})])
        state.assume(caught)
        if handler.name is not None:
            bind(m, handler.name.name, Unknown(scalar=True), frame)
        if suite(m, handler.body, frame):
            exits.append(Exit(caught, state.changes(this.mark)))
    if exits and node.handlers:
        state.merge(this.mark, exits)
    if node.finalbody is not None:
        _finally(m, node.finalbody.body, frame, returned)
        return suite(m, node.finalbody.body, frame) and bool(exits)
    return bool(exits)
