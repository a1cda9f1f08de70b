"""What the rooms of the analysis share while a file is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from ..heap.autograd import Write, compatible, graph, routes
from ..heap.join import choose
from ..heap.state import Exit, State, resolve
from ..heap.values import (
    ALWAYS,
    TENSOR,
    Cell,
    CellState,
    Choice,
    Const,
    Dict,
    Grad,
    Guard,
    List,
    Node,
    Object,
    Saved,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    is_number,
)
from ..program.pieces import Piece, Scan
from ..program.scan import GRADIENTS
from ..program.sealed import sealed
from ..program.site import Site
from .frames import Class, Frame, Function
from .reports import Hazard, Refusal

DEPTH = 12
"""Calls that are followed inside one another."""
ENTRY_STEPS = 6000
"""Statements read for one entry, calls and second loop passes included; beyond it calls are not followed."""
COMBINATIONS = 4
"""Combinations of what the operands of one operation may be that are followed."""
SECONDS = 20
"""Processor time after which the rest of a file is left."""
FILE_STEPS = 300_000
TEXT = 2_000_000
"""Characters of a function or statement that are read at most."""


@dataclass(slots=True, eq=False)
class Alike:
    """What an operation makes, whichever of several values it is given: one tensor, for only one of them is made.

    ``number`` counts the operators that have run for the present one of the values.
    """

    number: int = 0
    made: dict[Hashable, Tensor] = field(default_factory=dict)


class Exhausted(Exception):
    """The file asks for more work than a linter should spend on it."""


@sealed(frozen=True, slots=True)
class Start:
    """The state right after an instance of a class was made."""

    instance: Value
    store: dict[Any, Any]
    path: dict[Unknown, bool]
    symbols: dict[Hashable, Unknown]
    promoted: dict[Unknown, Tensor]


@dataclass(slots=True, eq=False)
class Machine:
    """One file being read.

    ``questions`` are those whether a tensor requires grad, by its cell; ``spelled`` the names in all functions that
    were read; ``ran`` when a function last ran; ``alike`` what an operation has made of other values that its
    operands may be. ``unread``: of what is evaluated, no values are read. ``scopes`` are frames that functions were
    defined in; ``keepers`` those that gave instances their attributes. ``overtaken`` are variables and attributes that
    were to keep a module and are the module itself, each with where it was trained.
    """

    file: Scan
    state: State = field(default_factory=State)
    pending: dict[Saved, list[Write]] = field(default_factory=dict)
    hazards: dict[tuple[Saved, Write], Hazard] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    borrowed: dict[Storage, str] = field(default_factory=dict)
    rewritten: dict[Storage, list[Write]] | None = None
    differentiated: dict[Function, list[tuple[int, Write]]] = field(default_factory=dict)
    again: dict[Saved, list[Write]] = field(default_factory=dict)
    extra: frozenset[str] = frozenset()
    reveals: list[tuple[Site, str]] = field(default_factory=list)
    symbols: dict[Hashable, Unknown] = field(default_factory=dict)
    promoted: dict[Unknown, Tensor] = field(default_factory=dict)
    reached: set[cst.CSTNode] = field(default_factory=set)
    unreadable: dict[Piece, str] = field(default_factory=dict)
    alike: Alike | None = None
    questions: dict[tuple[Cell], frozenset[Unknown]] = field(default_factory=dict)
    spelled: set[str] = field(default_factory=set)
    ran: dict[cst.CSTNode, int] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    base: dict[Any, Any] = field(default_factory=dict)
    strangers: dict[Class, Start] = field(default_factory=dict)
    loaded: set[Piece] = field(default_factory=set)
    active: list[Function] = field(default_factory=list)
    calling: list[Site] = field(default_factory=list)
    stepping: Site | None = None
    frames: list[Frame] = field(default_factory=list)
    scopes: list[Frame] = field(default_factory=list)
    clock: int = 0
    unread: bool = False
    events: dict[Any, Any] = field(default_factory=dict)
    stored: dict[Any, int] = field(default_factory=dict)
    mentions: dict[cst.CSTNode | None, tuple[str, ...]] = field(default_factory=dict)
    skipped: set[cst.CSTNode] = field(default_factory=set)
    joined: dict[cst.CSTNode, frozenset[str]] = field(default_factory=dict)
    rescaled: dict[Any, Site] = field(default_factory=dict)
    batched: set[Tensor] = field(default_factory=set)
    updates: dict[str, Any] = field(default_factory=dict)  # "all": moments and places of updates of parameters
    modules: set[Value] = field(default_factory=set)
    snapshots: dict[Value, tuple[Value, Site, int]] = field(default_factory=dict)
    returned: dict[Any, Tensor | None] = field(default_factory=dict)
    overtaken: dict[Any, Site | None] = field(default_factory=dict)
    keepers: dict[tuple[Object, str], Frame] = field(default_factory=dict)
    parts: dict[tuple[Frame, str], tuple[cst.Subscript, int]] = field(default_factory=dict)
    handed: dict[Value, list[tuple[int, Frame, Value]]] = field(default_factory=dict)
    alarm: float = field(default_factory=lambda: time.perf_counter() + SECONDS)
    deadline: float = field(default_factory=lambda: time.thread_time() + SECONDS)
    steps: int = 0
    made_calls: int = 0
    entry_steps: int = 0
    recursive: int = 0
    run: Callable[[Function, list[Value], dict[str, Value], Site], Value] = None  # type: ignore[assignment]
    bind: Callable[[cst.BaseExpression, Value, Frame], None] = None  # type: ignore[assignment]
    load: Callable[[Piece, Frame], None] = None  # type: ignore[assignment]

    def close(self) -> None:
        """Nothing is asked any more: take apart what refers to itself, for the collector is slow to find it."""
        for frame in self.scopes:
            frame.vars.clear()
        for piece in self.file.pieces:
            piece.forget()
        del self.run, self.bind, self.load

    def go_on(self) -> None:
        """Raise Exhausted where the file has had its share. Processor time is slow to ask for, and behind the clock."""
        late = time.perf_counter() > self.alarm and time.thread_time() > self.deadline
        if late or self.steps > FILE_STEPS:
            raise Exhausted

    def tick(self) -> int:
        """The next moment."""
        self.clock += 1
        return self.clock

    # -- text

    def read(self, piece: Piece) -> cst.BaseSuite:
        """The statements of a piece; none, and a note, where they cannot be read."""
        if not piece.known and piece.size > TEXT:
            self.unreadable[piece] = "this is too long to be read"
        if piece not in self.unreadable:
            try:
                return piece.read()
            except SyntaxError as error:
                self.unreadable[piece] = str(error)
            except RecursionError:
                self.unreadable[piece] = "nested too deeply"
        return cst.IndentedBlock(())

    def body(self, function: Function) -> tuple[cst.BaseSuite | cst.BaseExpression, Piece]:
        """What a function does, and the piece that this stands in; nothing where it is unreadable."""
        if function.text is None:
            return function.node.body, function.piece
        return self.read(function.text), function.text

    # -- values

    def see(self, value: Value) -> Value:
        """The value as far as it is known on the present path."""
        kind = type(value)  # asked most of all: no isinstance
        if kind is Choice:
            value = resolve(value, self.state)
            kind = type(value)
        if kind is Unknown:
            found: Value = self.state.store.get(value, value)
            return resolve(found, self.state) if type(found) is Choice else found
        return value

    def symbol(self, *key: Hashable, scalar: bool = False, grad: Grad = Grad.NO) -> Unknown:
        """The unknown result of a pure computation: the same for the same operands."""
        found = self.symbols.get(key)
        if found is None:
            found = self.symbols[key] = Unknown(grad, scalar=scalar)
        return found

    def promote(self, value: Value) -> Value:
        """Take an unknown value for the tensor that its use proves it to be.

        Where the program asks whether it is one, it is one only where the answer was yes.
        """
        value = self.see(value)
        if not isinstance(value, Unknown) or value.scalar:
            return value
        tensor = self.tensor_of(value)
        asked = self.symbols.get(("isinstance", value, TENSOR))
        found: Value = tensor
        if asked is not None and self.state.path.get(asked) is True:
            found = Choice(((frozenset({(asked, True)}), tensor), (frozenset({(asked, False)}), Unknown())))
        self.state.set(self.state.store, value, found)
        return tensor

    def tensor_of(self, value: Unknown) -> Tensor:
        """The tensor that an unknown value is, once its use has proved it to be one."""
        tensor = self.promoted.get(value)
        if tensor is None:
            grad = Grad.NO if value.grad is Grad.NO and value.node is None else max(value.grad, Grad.MAYBE)
            tensor = self.promoted[value] = Tensor(cell=Cell(grad, value.node, leaf=False))
        return tensor

    def grad(self, value: Value) -> Grad:
        if type(value) is Tensor:
            asked = self.questions and self.without_grad(value.cell)
            return Grad.NO if asked else self.state.get(value.cell).grad
        return value.grad if type(value) is Unknown else Grad.NO

    def ask(self, *cells: Cell) -> Value:
        """Whether a tensor requires grad that is one of several, each with its cell."""
        if all(self.state.get(cell).grad is Grad.YES for cell in cells):
            return Const(True)
        symbol = self.symbol("requires_grad", *cells, scalar=True)
        for cell in cells:
            self.state.set(self.questions, (cell,), self.questions.get((cell,), frozenset()) | {symbol})
        return symbol

    def without_grad(self, cell: Cell) -> bool:
        """Whether a tensor was asked whether it requires grad, and does not on the present path."""
        asked = self.questions.get((cell,), ())
        return bool(asked) and any(self.state.path.get(symbol) is False for symbol in asked)

    def cell(self, tensor: Tensor) -> CellState:
        state: CellState = self.state.get(tensor.cell)
        return state

    @property
    def grad_mode(self) -> bool:
        return bool(self.state.modes.get("grad", True))

    def split(self, values: list[Value], then: Callable[[list[Value]], Value]) -> Value:
        """Call ``then`` with the combinations of the options of ``values``, each under its guard."""
        values = [self.see(value) for value in values]
        for value in values:
            if isinstance(value, Choice):
                outer, self.alike = self.alike, Alike()
                found = self._split(self._narrowed(values), then)
                self.alike = outer
                return found
        return then(values)

    def _narrowed(self, values: list[Value]) -> list[Value]:
        """Forget options, from the last value on, until there are no more than a few combinations.

        Which of several values something is, of none of which anything is known, is no matter to what is made of it.
        """
        combinations = 1
        for index, value in enumerate(values):
            if isinstance(value, Choice):
                if all(is_number(option) for _, option in value.options):
                    values[index] = Unknown(scalar=True)
                    continue
                if all(self._says_nothing(option) for _, option in value.options):
                    values[index] = self.symbol("one of", value.options)
                    continue
                left = max(COMBINATIONS // combinations, 1)
                if len(value.options) > left:
                    values[index] = Choice(value.options[:left]) if left > 1 else value.options[0][1]
                combinations *= min(len(value.options), left)
        return values

    def _says_nothing(self, value: Value) -> bool:
        """Whether all that is known of a value is that it is the same wherever it is met."""
        if not isinstance(value, Unknown) or value in self.state.store:
            return False
        return not (value.node or value.default or value.grad or value.likely or value.scalar)

    def _split(self, values: list[Value], then: Callable[[list[Value]], Value], start: int = 0) -> Value:
        state, values = self.state, list(values)
        for index in range(start, len(values)):
            value = values[index] = self.see(values[index])
            if type(value) is Choice:
                mark, exits, changed = state.mark(), [], False
                for guard, option in value.options:
                    if state.possible(guard):
                        state.assume(guard)
                        assumed = state.mark()
                        result = self._split([*values[:index], option, *values[index + 1 :]], then, index)
                        delta = state.changes(mark) if state.mark() > assumed else {}
                        changed = changed or bool(delta)
                        exits.append(Exit(guard, delta, result))
                        state.rollback(mark)
                if not exits:
                    return Unknown()
                if len(value.options) == 1:
                    exits.append(Exit(frozenset(), {}, Unknown()))
                if changed:
                    for way in exits:
                        if not way.delta:
                            state.assume(way.guard)
                            way.delta = state.changes(mark)
                            state.rollback(mark)
                    state.merge(mark, exits)
                else:  # as mostly
                    state.assume(frozenset.intersection(*(way.guard for way in exits)))
                return choose([(way.guard, way.value) for way in exits])
        if self.alike is not None:
            self.alike.number = 0
        return then(values)

    def is_statement(self, site: Site) -> bool:
        """Whether a call is all that its statement does, and nobody uses what it returns."""
        line = self.frames[-1].line if self.frames else None
        return type(line) is cst.Expr and line.value is site.expression

    # -- hazards

    def history(self, *values: Value) -> tuple[Node, ...]:
        """The graph nodes that these values were computed by."""
        return tuple(dict.fromkeys(node for node, _ in self.sources(*values)))

    def sources(self, *values: Value) -> Iterator[tuple[Node, Guard]]:
        """The graph nodes that these values were computed by, each with when it is the one."""
        seen: dict[int, Guard] = {}
        todo = [(value, ALWAYS) for value in values]
        while todo:
            value, guard = todo.pop()
            if type(value) not in _COMPUTED or type(value := self.see(value)) not in _COMPUTED:
                continue
            if isinstance(value, Tensor):
                node = self.cell(value).node
            elif isinstance(value, Unknown):
                node = value.node
            else:
                node = None
                if id(value) in seen and seen[id(value)] <= guard:
                    continue
                seen[id(value)] = guard
                if isinstance(value, Tuple):
                    todo.extend((item, guard) for item in value.items)
                elif isinstance(value, List):
                    todo.extend((item, guard) for item in self.state.get(value).items)
                elif isinstance(value, (Dict, Object)):
                    todo.extend((item, guard) for item in self.state.get(value).items.values())
                elif isinstance(value, Choice):
                    todo.extend((option, guard | when) for when, option in value.options if self.state.possible(when))
            if node is not None:
                yield node, guard

    def refuse(self, kind: str, site: Site) -> None:
        if not self._settled_elsewhere(kind):
            self.refusals.append(Refusal(kind, site, tuple(self.calling)))

    def _settled_elsewhere(self, kind: str) -> bool:
        """Whether an error that comes at once, wherever grad mode is on, is in a file that never asks for a gradient.

        It would not have outlived the first such run: who calls the function that was read, and gives it something,
        does so where grad mode is off. A method that writes to a leaf may be new.
        """
        if kind != "out" and (kind not in ("leaf", "leaf view") or self.frames[-1].owner is not None):
            return False
        outside = bool(self.active) and self.calling[0].node is self.active[0].node
        if not outside or not any(frame.given for frame in self.frames[:2]):  # a program that runs by itself
            return False
        return not self.file.mentions(GRADIENTS if kind == "out" else GRADIENTS | {"Parameter"})

    def write(self, storage: Storage, form: str, site: Site) -> None:
        """A storage is overwritten: every save of it that is still held is now stale.

        Writes that an optimizer of this file makes count at the call of the optimizer.
        """
        if self.stepping is not None:
            form, site = "step", self.stepping
        if storage in self.borrowed:
            self.refuse(self.borrowed[storage], site)
            return
        if storage.hidden is not None:
            self.write(storage.hidden, "data", site)
        if self.rewritten is not None and storage in self.rewritten:
            self.rewritten[storage].append(Write(form, site, self.state.guard(), tuple(self.calling)))
            return
        saves = self.held(storage)
        if saves:
            guard = self.state.guard()
            write: Write | None = None
            for saved in saves:
                if compatible(saved.guard, guard):
                    write = write or Write(form, site, guard, tuple(self.calling))
                    self.pending.setdefault(saved, []).append(write)

    def held(self, storage: Storage) -> list[Saved]:
        """The saves of a storage, as far as they happen on the present path.

        Where a tensor was asked whether it requires grad, and does not, nothing was kept for its gradient. Who asks has
        seen to the others as well, so nothing was kept for any but those that surely require grad.
        """
        saves = self.state.get(storage)
        constant = {cell for (cell,) in self.questions if self.without_grad(cell)} if saves else set()
        if not constant:
            return list(saves)
        nodes = graph(*(self.state.get(cell).node for cell in constant))
        void = {saved for node in nodes for saved in node.saves}
        sure = {saved for saved in saves if any(self.state.get(c).grad is Grad.YES for c in saved.needs - constant)}
        return [saved for saved in saves if saved in sure - void]

    def want(self, *values: Value) -> None:
        """A backward may start from these values: stale saves in their history are hazards."""
        if not self.pending:
            return
        for node, guard in routes(self.sources(*values), self.state.guard()):
            for saved in node.saves:
                for write in self.pending.get(saved, ()):
                    if (saved, write) not in self.hazards and compatible(saved.guard, write.guard, guard):
                        self.hazards[saved, write] = Hazard(saved, write)

    def repeat(self, *values: Value) -> None:
        """A backward went through the history of these values and may do so again; some overwrite what they saved."""
        for node in graph(*self.history(*values)):
            for saved in node.saves:
                if saved in self.again:
                    self.pending.setdefault(saved, []).extend(self.again[saved])

    def release(self, *values: Value) -> None:
        """A backward went through the history of these values and freed what it had saved."""
        self.release_nodes(self.history(*values))

    def release_nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in graph(*nodes):
            for saved in node.saves:
                held = self.state.get(saved.storage)
                if saved in held:
                    self.state.put(saved.storage, held - {saved})


_COMPUTED = frozenset({Tensor, Unknown, Choice, Tuple, List, Dict, Object})
"""The kinds of values that something was computed for, or that hold such."""
