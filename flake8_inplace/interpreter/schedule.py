"""The schedule of one file: module-level code first, then the entry points, callers before callees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from ..finding import Place
from ..hazards import intent
from ..hazards.refused import LEAF_KINDS
from ..heap.state import State
from ..heap.values import Attributes, Dict, Items, List, Object, Ref, Value
from ..models.calls import call
from ..program.modules import Modules
from ..program.pieces import Piece, Scan, callers, heirs, made
from ..program.scan import TABLE, wraps
from ..program.site import Site
from ..trace.budget import BORROWED_STATEMENTS, Exhausted
from ..trace.frames import Class, Frame, Function
from ..trace.reports import Refusal
from ..trace.stack import Stack
from ..trace.text import MAIN, Module, Text
from ..trace.trace import Trace
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
from .entries import call_class, call_entry, worth
from .functions import run
from .heirs import keeps_heirs, keeps_made
from .modules import imported, itself, registered_elsewhere, subclasses

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
"""The modules that register handlers with `dispatch`."""


LOADING = 20
"""The most top-level statements that run inside each other, each for a name in the one before."""


def load(m: Trace, piece: Piece, module: Frame) -> None:
    """Run a top-level statement, the first time that one of its names is looked up.

    Too many of them inside each other end at Python's own limit. The names of the next one stay unknown until another
    statement asks for them.
    """
    if piece in m.text.loaded or m.work.loading >= LOADING:
        return
    m.text.loaded.add(piece)
    m.work.loading += 1
    state, stack, before = m.state, m.stack, dict(m.work.module_state)
    frame, found = Frame(module.vars, piece), m.text.module(piece.path)
    m.state, m.stack = State(m.work.module_state), Stack(frames=[frame], stepping=stack.stepping)
    try:
        suite(m, m.text.read(piece), frame)
        for name in piece.binds:
            _fillable(m, module.vars.get(name))
            m.work.module_state.update(m.state.store)  # what is registered finds the table
            if found is not None:
                for other, around in _registering(m, name, found):
                    load(m, other, around)
    finally:
        m.work.loading -= 1
        m.work.module_state.update(m.state.store)
        m.state, m.stack = state, stack
    for thing, value in m.work.module_state.items():
        if thing not in state.store or state.store[thing] is before.get(thing):  # what the entry changed stays so
            state.store[thing] = value


def _registering(m: Trace, name: str, module: Module) -> Iterator[tuple[Piece, Frame]]:
    """The statements that register something in what a name of a module is bound to, each with its module's frame."""
    value, file = module.frame.vars.get(name), module.file
    if isinstance(value, Ref):
        return  # nothing of a library is followed
    keys = [name, *file.fillers.get(name, ())]
    if isinstance(value, Object):
        keys.append(callers(name))
    elif isinstance(value, Class):
        keys += [heirs(name)] if keeps_heirs(m, value) else []
    for key in keys:
        yield from _registered(m, key, module)
    if isinstance(value, Class):
        classes = _registered(m, made(name), module)
        yield from classes if classes and keeps_made(m, value) else ()


def _registered(m: Trace, key: str, module: Module) -> list[tuple[Piece, Frame]]:
    own = [(piece, module.frame) for piece in module.file.registered.get(key, ())]
    return own + registered_elsewhere(m, module.file.path, key)


def _fillable(m: Trace, value: Value | None) -> None:
    """Mark an empty container of the module as open: decorators, or code that imports it, may fill it."""
    if isinstance(value, Dict) and not m.state.get(value).items:
        m.state.put(value, Attributes({}, True))
    elif isinstance(value, List) and not m.state.get(value).items:
        m.state.put(value, Items((), True))


class Interpreter(Trace):
    """The trace with the functions that run the program."""

    __slots__ = ()

    def call(self, callee: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        return call(self, callee, args, kwargs, site)

    def run(self, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        return run(self, function, args, kwargs, site)

    def bind(self, target: cst.BaseExpression, value: Value, frame: Frame) -> None:
        bind(self, target, value, frame)

    def load(self, piece: Piece, module: Frame) -> None:
        load(self, piece, module)

    def find_module(self, name: str, path: str) -> Value:
        found = itself(self) if name == MAIN else imported(self, name, None, path)
        return found if found is not None else Ref(name)

    def attribute(self, value: Value, name: str, site: Site) -> Value:
        return names.attribute(self, value, name, site)

    def subclasses(self, cls: Class) -> Value:
        return subclasses(self, cls)


def analyse(
    file: Scan,
    extra: frozenset[str] = frozenset(),
    others: Modules | None = None,
    without_grad: frozenset[str] = frozenset(),
    spared: frozenset[tuple[Place, Place]] = frozenset(),
) -> Trace:
    """Read a whole file: its module-level code, then whatever that did not call.

    ``extra`` are the families that are off by default and wanted all the same: "possible", "style". ``others`` are the
    other files of the project, if imports are followed. ``without_grad`` are functions that those never call for
    a backward; ``spared``, functions with writes to leaves that go through where those call them.
    """
    m = Interpreter(Text(file, others), extra)
    m.work.without_grad = without_grad
    m.text.modules[file.path] = own = m.text.begin(file)
    module = own.frame
    piece = file.pieces[0]
    try:
        with not_too_deep(m, piece):
            _module_code(m, own)
        for piece in callers_first(file):
            with not_too_deep(m, piece):
                _definition(m, piece, module)
    except Exhausted:
        m.text.unreadable[piece] = "this and what follows ask for more work than a linter should do"
    misuses, m.reports.misuses = m.reports.misuses, []
    for misuse in misuses:
        with not_too_deep(m, misuse.write.piece):
            settled = intent.optional(misuse) or intent.settled_elsewhere(m, misuse) or _is_spared(misuse, spared)
            if not settled:
                m.reports.misuses.append(misuse)
    return m


def _is_spared(misuse: Refusal, spared: frozenset[tuple[Place, Place]]) -> bool:
    """Whether a leaf is overwritten in an entry point that other files call where gradients are disabled."""
    if misuse.kind not in LEAF_KINDS or not spared or not misuse.calls:
        return False
    entry, write = misuse.calls[0], misuse.write
    if entry.piece.path != write.piece.path:
        return False
    return (entry.piece.tree.place(entry.node), write.piece.tree.place(write.node)) in spared


@contextmanager
def not_too_deep(m: Trace, piece: Piece) -> Iterator[None]:
    """Read a piece. If it is nested too deeply for Python, note that and continue with the others."""
    try:
        yield
    except RecursionError:
        m.text.unreadable[piece] = "nested too deeply"


def _definition(m: Trace, piece: Piece, module: Frame) -> None:
    load(m, piece, module)
    for name in piece.binds:
        value = module.vars.get(name)
        if isinstance(value, Function) and value.node not in m.work.reached and worth(m, value):
            m.fresh_entry()
            m.state.set(m.state.modes, "grad", name not in m.text.file.backwards and name not in m.work.without_grad)
            call_entry(m, value, None)
        elif isinstance(value, Class):
            call_class(m, value)


def _module_code(m: Trace, own: Module) -> None:
    """Run module-level statements in order. If none is worth reading, they run when one of their names is looked up."""
    m.fresh_entry()
    module = own.frame
    m.stack.frames = [module]
    if all(piece.definition for piece in m.text.file.worth):
        return
    borrowed = all(piece.borrowed for piece in m.text.file.worth if not piece.definition)
    for piece in m.text.file.pieces:
        if borrowed and m.budget.statements > BORROWED_STATEMENTS:
            break
        if borrowed and piece.size > TABLE:
            continue  # a table of data, which runs when one of its names is looked up
        if not piece.definition and piece not in m.text.loaded:
            m.text.loaded.add(piece)
            module.piece, module.line, module.at = piece, None, None
            suite(m, m.text.read(piece), module)
            for other, around in [each for name in piece.binds for each in _registering(m, name, own)]:
                if other.path != piece.path:
                    load(m, other, around)
                elif other.definition and other not in m.text.loaded:  # any other statement has its turn
                    m.text.loaded.add(other)
                    suite(m, m.text.read(other), Frame(module.vars, other))
    filled = {thing: what for thing, what in m.state.store.items() if isinstance(thing, (List, Dict, Object))}
    m.work.module_state.update(filled)  # entry points see the tables and registries that module-level code filled


def callers_first(file: Scan) -> list[Piece]:
    """Return the definitions worth reading, callers before callees: a call with real arguments comes first."""
    order: list[Piece] = []
    seen: set[Piece] = set()
    mentions: dict[str, list[Piece]] = {}
    for piece in file.worth:
        for name in piece.mentions:
            mentions.setdefault(name, []).append(piece)
    left = {name: iter(pieces) for name, pieces in mentions.items()}  # each user is visited once
    for piece in file.worth:
        stack = [] if piece in seen else [(piece, _users(piece, left))]
        seen.add(piece)
        while stack:
            current, rest = stack[-1]
            following = next((user for user in rest if user not in seen), None)
            if following is None:
                order.append(current)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, _users(following, left)))
    return [piece for piece in order if piece.definition and not wraps(piece, file)]


def _users(piece: Piece, left: dict[str, Iterator[Piece]]) -> Iterator[Piece]:
    """Yield the pieces that mention what a piece defines, of those that are left."""
    private = {function.name for function in piece.functions if function.name.startswith("_")}
    for name in sorted(piece.binds | private):
        yield from left.get(name, ())
