"""Read a whole file: module-level code first, then each entry point after those that call it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..hazards import intent
from ..heap.state import State
from ..heap.values import Attributes, Const, Dict, Items, List, Object, Value
from ..program.pieces import Piece, Scan
from ..program.scan import wraps
from ..trace.frames import Class, Frame, Function
from ..trace.machine import Exhausted, Machine
from . import (
    assignment,
    calls,
    comparisons,
    comprehensions,
    conditions,
    contexts,
    definitions,
    flow,
    literals,
    loops,
    matching,
    names,
    operators,
    subscripts,
)
from .binding import bind
from .dispatch import suite
from .entries import call_class, call_entry, fresh_entry, worth
from .functions import run

HANDLERS = (
    assignment,
    calls,
    comparisons,
    comprehensions,
    conditions,
    contexts,
    definitions,
    flow,
    literals,
    loops,
    matching,
    names,
    operators,
    subscripts,
)
"""The modules that register with `dispatch` what runs each kind of statement and evaluates each kind of expression."""


def load(m: Machine, piece: Piece, module: Frame) -> None:
    """Read a top-level statement the first time that one of its names is asked for."""
    if piece in m.loaded:
        return
    m.loaded.add(piece)
    state, active, calling = m.state, m.active, m.calling
    m.state, m.active, m.calling, frames, m.frames = State(store=m.base), [], [], m.frames, []
    frame = Frame(module.vars, piece)
    try:
        suite(m, m.read(piece), frame)
        for name in piece.binds:
            _fillable(m, module.vars.get(name))
            for other in m.file.registered.get(name, ()):
                load(m, other, module)
    finally:
        m.state, m.active, m.calling, m.frames = state, active, calling, frames
    for thing, value in m.base.items():
        state.store.setdefault(thing, value)


def _fillable(m: Machine, value: Value | None) -> None:
    """An empty container of the module is there to be filled, by decorators or by others who import it."""
    if isinstance(value, Dict) and not m.state.get(value).items:
        m.state.put(value, Attributes({}, True))
    elif isinstance(value, List) and not m.state.get(value).items:
        m.state.put(value, Items((), True))


def analyse(file: Scan, extra: frozenset[str] = frozenset()) -> Machine:
    """Read a whole file: its module-level code, then whatever that did not call.

    ``extra`` are the families that are off by default and wanted all the same: "possible", "style".
    """
    m = Machine(file, extra=extra)
    m.run = lambda function, args, kwargs, site: run(m, function, args, kwargs, site)
    m.bind = lambda target, value, frame: bind(m, target, value, frame)
    m.load = lambda piece, module: load(m, piece, module)
    module = Frame({"__name__": Const("__main__")}, file.pieces[0])
    piece = file.pieces[0]
    try:
        with not_too_deep(m, piece):
            _module_code(m, module)
        for piece in callers_first(file):
            with not_too_deep(m, piece):
                _definition(m, piece, module)
    except Exhausted:
        m.unreadable[piece] = "this and what follows ask for more work than a linter should do"
    refusals, m.refusals = m.refusals, []
    for refusal in refusals:
        with not_too_deep(m, refusal.write.piece):
            m.refusals += [refusal] if not intent.optional(refusal) else []
    return m


@contextmanager
def not_too_deep(m: Machine, piece: Piece) -> Iterator[None]:
    """Read something of a piece; where it is nested too deeply for Python, the others are read all the same."""
    try:
        yield
    except RecursionError:
        m.unreadable[piece] = "nested too deeply"


def _definition(m: Machine, piece: Piece, module: Frame) -> None:
    load(m, piece, module)
    for name in piece.binds:
        value = module.vars.get(name)
        if isinstance(value, Function) and value.node not in m.reached and worth(m, value):
            fresh_entry(m)
            m.state.set(m.state.modes, "grad", name not in m.file.backwards)
            call_entry(m, value, None)
        elif isinstance(value, Class):
            call_class(m, value)


def _module_code(m: Machine, module: Frame) -> None:
    """Module-level statements, in order; where none of them matters they are left until a name asks for them."""
    fresh_entry(m)
    m.frames = [module]
    if all(piece.definition for piece in m.file.worth):
        return
    for piece in m.file.pieces:
        if not piece.definition and piece not in m.loaded:
            m.loaded.add(piece)
            module.piece = piece
            suite(m, m.read(piece), module)
            for other in [other for name in piece.binds for other in m.file.registered.get(name, ())]:
                if other not in m.loaded:
                    m.loaded.add(other)
                    suite(m, m.read(other), Frame(module.vars, other))
    filled = {thing: what for thing, what in m.state.store.items() if isinstance(thing, (List, Dict, Object))}
    m.base.update(filled)  # what is called later finds the tables and registries of the module as it left them


def callers_first(file: Scan) -> list[Piece]:
    """The definitions worth reading, each after those that mention it, so that it is read as it is really called."""
    order: list[Piece] = []
    seen: set[Piece] = set()

    def visit(piece: Piece) -> None:
        stack = [(piece, users(piece))]
        seen.add(piece)
        while stack:
            current, rest = stack[-1]
            following = next((user for user in rest if user not in seen), None)
            if following is None:
                order.append(current)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, users(following)))

    mentions: dict[str, list[Piece]] = {}
    for piece in file.worth:
        for name in piece.mentions:
            mentions.setdefault(name, []).append(piece)
    left = {name: iter(pieces) for name, pieces in mentions.items()}  # whoever was seen once is not looked at again

    def users(piece: Piece) -> Iterator[Piece]:
        private = {function.name for function in piece.functions if function.name.startswith("_")}
        for name in sorted(piece.binds | private):
            yield from left.get(name, ())

    for piece in file.worth:
        if piece not in seen:
            visit(piece)
    return [piece for piece in order if piece.definition and not wraps(piece, file)]
