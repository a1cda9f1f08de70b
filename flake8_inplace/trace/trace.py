"""The trace of one file: the state of the program, and questions about values. Models and checkers get it as ``m``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Set
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TYPE_CHECKING

from ..heap.autograd import otherwise
from ..heap.join import GUARDS, choose
from ..heap.state import Declared, Exit, State, resolve, union
from ..heap.values import (
    ALWAYS,
    NONE,
    TENSOR,
    Cell,
    CellState,
    Choice,
    Const,
    Dict,
    Dimension,
    Grad,
    Guard,
    List,
    Node,
    Object,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    is_number,
    part_grad,
)
from ..program.pieces import Piece
from ..program.site import Site
from .backward import BackwardRun
from .budget import Budget
from .frames import Class, Frame, Function
from .numbers import Numbers
from .reports import Need, Refusal, Reports
from .stack import Stack
from .text import Text
from .worklist import Worklist

if TYPE_CHECKING:
    import libcst as cst

COMBINATIONS = 4
"""The most combinations of the options of operands that are followed for one operation."""
GRAD_TESTS: Declared[Cell, frozenset[Unknown]] = Declared(union)
"""The results of the program's tests whether a tensor requires grad, by its cell. A path may assume their truth."""
BATCHED: Declared[Tensor, bool] = Declared(lambda options: any(batched for _, batched in options))
"""Tensors with a batch dimension of ``vmap``."""
MODULES: Declared[Value, bool] = Declared(lambda options: any(is_one for _, is_one in options))
"""Unknown values that the program uses as modules."""
OPTIMIZERS: Declared[Value, bool] = Declared(lambda options: any(is_one for _, is_one in options))
"""Unknown values whose ``zero_grad`` the program calls. One that has a ``step`` too is an optimizer."""


@dataclass(slots=True, eq=False)
class SharedResult:
    """The shared result of an operation that runs once for each option of an operand: one tensor for all options.

    ``number`` counts the operators that have run for the present option.
    """

    number: int = 0
    made: dict[Hashable, Tensor] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Trace(ABC):
    """The trace of one file. The interpreter implements the abstract methods."""

    text: Text
    extra: frozenset[str] = frozenset()  # the opt-in families that are enabled
    state: State = field(default_factory=State)
    stack: Stack = field(default_factory=Stack)
    work: Worklist = field(default_factory=Worklist)
    budget: Budget = field(default_factory=Budget)
    reports: Reports = field(default_factory=Reports)
    backward: BackwardRun = field(default_factory=BackwardRun)
    # The results of pure computations, by operation and operands. They are the same on every path, so not in a table.
    symbols: dict[Hashable, Unknown] = field(default_factory=dict)
    tensors: dict[Unknown, Tensor] = field(default_factory=dict)  # the tensor that an unknown value is, if it is one
    numbers: Numbers = field(default_factory=Numbers)
    tested: dict[Unknown, Unknown] = field(default_factory=dict)  # what a test asks to be a tensor, by its result
    # What makes a conjunction true, by each of its tests and the symbol that says that it is false.
    failures: dict[Unknown, dict[Unknown, Guard]] = field(default_factory=dict)
    alike: SharedResult | None = None
    clock: int = 0
    unread: bool = False  # while set, evaluation doesn't count as reading the contents of tensors
    naming: list[Refusal] | None = None  # to be reported once the value that gets a name is read

    @abstractmethod
    def call(self, callee: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        """Call any value."""

    @abstractmethod
    def run(self, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        """Call a function of the program: read its body with these arguments."""

    @abstractmethod
    def bind(self, target: cst.BaseExpression, value: Value, frame: Frame) -> None:
        """Run ``target = value``."""

    @abstractmethod
    def attribute(self, value: Value, name: str, site: Site) -> Value:
        """Return ``value.name``."""

    @abstractmethod
    def subclasses(self, cls: Class) -> Value:
        """Return the classes of the program that inherit from a class directly."""

    @abstractmethod
    def find_module(self, name: str, path: str) -> Value:
        """Return the module that a name means in the file at a path; leading dots make it relative."""

    @abstractmethod
    def load(self, piece: Piece, module: Frame) -> None:
        """Run a top-level statement, the first time that one of its names is looked up."""

    def close(self) -> None:
        """Break reference cycles, when nothing more is read."""
        self.text.close()
        self.state = State()
        self.symbols, self.tensors, self.numbers, self.tested, self.failures = {}, {}, Numbers(), {}, {}

    def fresh_entry(self) -> None:
        """Start an entry point from the state after module-level code."""
        self.state = State(self.work.module_state)
        self.symbols, self.tensors, self.tested, self.failures = {}, {}, {}, {}
        self.budget.fresh_entry()

    def tick(self) -> int:
        """Advance the clock and return the new time."""
        self.clock += 1
        return self.clock

    def refuse(
        self,
        kind: str,
        site: Site,
        depth: int | None = None,
        carries: bool = False,
        other: Site | Tensor | None = None,
        guard: Guard = ALWAYS,
        needs: tuple[Need, ...] = (),
        through: tuple[Site, ...] = (),
        given: bool = False,
    ) -> None:
        """Report a write that PyTorch refuses, or that is wrong regardless of what was saved.

        ``depth`` is the number of calls that led to the function which the written tensor comes from: see
        `holdings.depth_of`. ``carries``: what is written has a gradient. ``other`` is the other place that takes part,
        such as where a view was taken, or the tensor that was made there; by default the expression that is being
        evaluated, which reads what was written. ``guard`` is that of such a write; ``needs``: what must hold.
        ``through`` are calls, done by now, that all of it happened in. ``given``: what is written is nothing that a
        method's own object has.
        """
        here, stack = tuple(self.stack.calls), self.stack
        outside = stack.is_entry() if given else stack.from_outside()
        other = (_origin(kind, other) if isinstance(other, Tensor) else other) or self.here()
        needs, calls = (*self.reports.needs(self.state.guard() | guard), *needs), self.reports.ways.get(site, here)
        if site in self.reports.frames:
            needs = (*needs, Need("pandas"))
        beside = (*here[:depth], *through)
        array = site in self.reports.arrays
        waits = self.naming if kind == "read" else None  # what only gets a name is not read yet
        told = self.reports.misuses if waits is None else waits
        told.append(Refusal(kind, site, calls, beside, outside, carries, other, needs, array))

    def note_way(self, site: Site) -> None:
        """Note the calls that lead to a write: what is wrong with it may only show when they are done."""
        calls = self.stack.calls
        self.reports.ways[site] = tuple(calls[: calls.index(site)] if site in calls else calls)

    def note_spared(self, site: Site) -> None:
        """Note a write in another file that goes through because gradients are disabled where the file calls it."""
        path = site.piece.path
        if path != self.text.file.path:
            for function in self.stack.functions:
                if function.piece.path == path:
                    self.work.spared[function.node, site.expression] = (function, site)

    def here(self) -> Site | None:
        """Return the expression that is being evaluated, or the running statement."""
        frame = self.stack.frames[-1] if self.stack.frames else None
        node = (frame.at or frame.line) if frame is not None else None
        return Site(frame.piece, node, node) if frame is not None and node is not None else None

    # -- values

    def see(self, value: Value) -> Value:
        """Resolve a value for the present path: drop excluded options, and look up what an unknown value has become."""
        kind = type(value)  # the most frequent call: no isinstance
        if kind is Choice:
            value = resolve(value, self.state)
            kind = type(value)
        if kind is Unknown:
            found: Value = self.state.store.get(value, value)
            return resolve(found, self.state) if type(found) is Choice else found
        return value

    def symbol(self, *key: Hashable, scalar: bool = False, grad: Grad = Grad.NO) -> Unknown:
        """Return the symbol for the result of a pure computation: the same for the same operands."""
        found = self.symbols.get(key)
        if found is None:
            found = self.symbols[key] = Unknown(grad, scalar=scalar)
        return found

    def part(self, value: Unknown, *key: Hashable) -> Unknown:
        """Return the symbol for a part of an unknown value. If that was computed, so was the part."""
        found = self.symbol(value, *key, grad=part_grad(value))
        found.node = found.node or value.node
        return found

    def assume(self, guard: Guard) -> None:
        """Continue under these assumptions, and what follows from them. What a test finds to be a tensor is one."""
        self.state.assume(guard)
        if self.failures:
            self._conclude(guard)
        for symbol, truth in guard if self.tested else ():
            if truth and symbol in self.tested:
                self.promote(self.tested[symbol])

    def note_failure(self, failed: Unknown, tests: Guard) -> None:
        """Note the symbol that says that not all of these tests are true."""
        for test in (failed, *[test for test, _ in tests]):
            known = self.failures.setdefault(test, {})
            known[failed] = tests

    def _conclude(self, guard: Guard) -> None:
        """Assume what tests say of a conjunction of them, and what a false one says of its last test.

        After ``if a or not b``, ``a`` is true where ``b`` is.
        """
        path = self.state.path
        for symbol, _ in guard:
            for failed, tests in self.failures.get(symbol, {}).items():
                left = [test for test in tests if path.get(test[0]) is not test[1]]
                if not left and failed not in path:
                    self.state.assume(frozenset({(failed, False)}))
                elif len(left) == 1 and left[0][0] not in path and path.get(failed) is True:
                    self.state.assume(frozenset({(left[0][0], not left[0][1])}))

    def assume_used(self, value: Value) -> None:
        """Continue where a value is not None, which has been used as None cannot be: ``x.add_(1)``."""
        if type(value) is Choice:
            held = [guard for guard, option in value.options if self.see(option) != NONE]
            if len(held) == 1 < len(value.options) and self.state.possible(held[0]):
                self.assume(held[0])

    def promote(self, value: Value) -> Value:
        """Refine an unknown value to the tensor that its use proves it to be.

        If the program tests ``isinstance(value, torch.Tensor)``, it is one only on paths where the test is true.
        """
        value = self.see(value)
        if not isinstance(value, Unknown) or value.scalar:
            return value
        tensor = self.tensor_of(value)
        asked = self.symbols.get(("isinstance", value, TENSOR))
        found: Value = tensor
        if asked is not None and self.state.path.get(asked) is True:
            other = Unknown()
            self.symbols["isinstance", other, TENSOR] = asked  # which says of both what they are
            found = Choice(((frozenset({(asked, True)}), tensor), (frozenset({(asked, False)}), other)))
        self.state.set(self.state.store, value, found)
        return tensor

    def tensor_of(self, value: Unknown) -> Tensor:
        """Return the tensor that an unknown value is, after its use has proved that it is one."""
        tensor = self.tensors.get(value)
        if tensor is None:
            grad = Grad.NO if value.grad is Grad.NO and value.node is None else max(value.grad, Grad.MAYBE)
            tensor = self.tensors[value] = Tensor(cell=Cell(grad, value.node, leaf=False))
        return tensor

    def grad(self, value: Value) -> Grad:
        if type(value) is Tensor:
            asked = self.state[GRAD_TESTS] and self.without_grad(value.cell)
            return Grad.NO if asked else self.cell(value).grad
        return value.grad if type(value) is Unknown else Grad.NO

    def ask(self, *cells: Cell) -> Value:
        """Return the result of the test whether a tensor requires grad; with several cells, one of several tensors."""
        if all(self.state.get(cell).grad is Grad.YES for cell in cells):
            return Const(True)
        symbol = self.symbol("requires_grad", *cells, scalar=True)
        self.tests_grad(symbol, *cells)
        return symbol

    def tests_grad(self, symbol: Unknown, *cells: Cell) -> None:
        """Note that a symbol is true if one of these cells requires grad: on paths where it is false, none does."""
        tests = self.state[GRAD_TESTS]
        for cell in cells:
            self.state.set(tests, cell, tests.get(cell, frozenset()) | {symbol})

    def without_grad(self, cell: Cell) -> bool:
        """Return whether the program tested that a tensor doesn't require grad, on the present path."""
        asked = self.state[GRAD_TESTS].get(cell, frozenset())
        return bool(asked) and any(self.state.path.get(symbol) is False for symbol in asked)

    def cell(self, tensor: Tensor) -> CellState:
        state: CellState = self.state.get(tensor.cell)
        if state.without and any(guard <= self.state.guard() for guard in state.without):
            return CellState(Grad.NO, None, True)
        if state.unsure and any(guard <= self.state.guard() for guard in state.unsure):
            return CellState(Grad.MAYBE, state.node, state.leaf, state.without)
        return state

    def without(self, cells: Set[Cell]) -> list[Guard]:
        """Return paths on which none of these cells requires grad."""
        known = product(*(self.state.get(cell).without for cell in cells)) if cells else ()
        return [ALWAYS.union(*guards) for guards in islice(known, GUARDS)]

    def requiring(self, cells: Set[Cell]) -> Guard:
        """Return the guard of the present path, on the runs in which one of these cells may require grad."""
        here = self.state.guard()
        return here.union(*(otherwise(guard, here) for guard in self.without(cells)))

    @property
    def grad_mode(self) -> bool:
        return bool(self.state.modes.get("grad", True))

    def split(self, values: list[Value], then: Callable[[list[Value]], Value]) -> Value:
        """Call ``then`` with each combination of the options of ``values``, under its guard, and join the results."""
        values = [self.see(value) for value in values]
        for value in values:
            if isinstance(value, Choice):
                outer, self.alike = self.alike, SharedResult()
                found = self._split(self._narrowed(values), then)
                self.alike = outer
                return found
        return then(values)

    def _narrowed(self, values: list[Value]) -> list[Value]:
        """Drop options so that at most `COMBINATIONS` are left; those of the first values are kept before later ones.

        If nothing is known about any option, or all are numbers, collapse the choice to one unknown value.
        """
        combinations = 1
        for index, value in enumerate(values):
            if isinstance(value, Choice):
                if all(is_number(option) for _, option in value.options):
                    values[index] = self.symbol("one of", value.options, scalar=True)
                    continue
                if all(self._says_nothing(option) for _, option in value.options):
                    values[index] = self.symbol("one of", value.options)
                    continue
                left = max(COMBINATIONS // combinations, 1)
                if len(value.options) > left:
                    values[index] = Choice(value.options[:left])  # a single one too: its path is a condition
                combinations *= min(len(value.options), left)
        return values

    def _says_nothing(self, value: Value) -> bool:
        """Return whether nothing is known about a value except its identity."""
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
                else:  # the usual case
                    state.assume(frozenset.intersection(*(way.guard for way in exits)))
                return choose([(way.guard, way.value) for way in exits])
        if self.alike is not None:
            self.alike.number = 0
        return then(values)

    def history(self, *values: Value) -> tuple[Node, ...]:
        """Return the graph nodes that these values were computed by."""
        return tuple(dict.fromkeys(node for node, _ in self.sources(*values)))

    def sources(self, *values: Value) -> Iterator[tuple[Node, Guard]]:
        """Yield the graph nodes that these values were computed by, each with the guard under which it was."""
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


_COMPUTED = frozenset({Tensor, Unknown, Choice, Tuple, List, Dict, Object})
"""The types of values that have a history, or contain values that do."""


def _origin(kind: str, tensor: Tensor) -> Site | None:
    """Return where a tensor was made; of a view that the write itself takes, as in ``x[0] += 1``, where its base was.

    If it has elements that share memory, return where the whole was made to.
    """
    shared = kind in ("expand", "expanded")
    while (region := tensor.region) is not None:
        base = region.base
        spread = shared and (base.view is View.EXPANDED or base.lead is Dimension.ROW)
        if tensor.place is not None and not spread:
            break
        tensor = base
    return tensor.place
