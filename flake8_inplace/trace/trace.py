"""What is happening while a program is read: models and checkers are handed it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..heap.join import choose
from ..heap.state import Declared, Exit, State, resolve, union
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
    Tensor,
    Tuple,
    Unknown,
    Value,
    is_number,
)
from ..program.pieces import Piece
from ..program.site import Site
from .backward import BackwardRun
from .budget import Budget
from .frames import Frame, Function
from .reports import Refusal, Reports
from .stack import Stack
from .text import Text
from .worklist import Worklist

if TYPE_CHECKING:
    import libcst as cst

COMBINATIONS = 4
"""Combinations of what the operands of one operation may be that are followed."""
GRAD_TESTS: Declared[Cell, frozenset[Unknown]] = Declared(union)
"""The answers to whether a tensor requires grad, by its cell: each is known on the paths where the program tests it."""
BATCHED: Declared[Tensor, bool] = Declared(lambda options: any(batched for _, batched in options))
"""The tensors that ``vmap`` gave a batch dimension."""
MODULES: Declared[Value, bool] = Declared(lambda options: any(is_one for _, is_one in options))
"""Unknown values that are used as a module is."""


@dataclass(slots=True, eq=False)
class SharedResult:
    """The result of an operation that is run once for each value that an operand may be: one tensor for all of them.

    ``number`` counts the operators that have run for the present one of the values.
    """

    number: int = 0
    made: dict[Hashable, Tensor] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Trace(ABC):
    """The reading of one file. The interpreter provides the abstract methods."""

    text: Text
    extra: frozenset[str] = frozenset()  # families of rules that are off by default, and wanted
    state: State = field(default_factory=State)
    stack: Stack = field(default_factory=Stack)
    work: Worklist = field(default_factory=Worklist)
    budget: Budget = field(default_factory=Budget)
    reports: Reports = field(default_factory=Reports)
    backward: BackwardRun = field(default_factory=BackwardRun)
    # Names for values, by what they are the result of. They hold on every path, so no journal keeps them.
    symbols: dict[Hashable, Unknown] = field(default_factory=dict)
    tensors: dict[Unknown, Tensor] = field(default_factory=dict)  # what unknown values are, if they are tensors
    alike: SharedResult | None = None
    clock: int = 0
    unread: bool = False  # what is evaluated now does not count as reading the contents of tensors

    @abstractmethod
    def call(self, callee: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        """Call any value."""

    @abstractmethod
    def run(self, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        """Call a function of the program: its body is read with these arguments."""

    @abstractmethod
    def bind(self, target: cst.BaseExpression, value: Value, frame: Frame) -> None:
        """Run ``target = value``."""

    @abstractmethod
    def find_module(self, name: str, path: str) -> Value:
        """Return the module that a name means in the file at a path; leading dots make it relative."""

    @abstractmethod
    def load(self, piece: Piece, module: Frame) -> None:
        """Run a top-level statement, the first time that one of its names is asked for."""

    def fresh_entry(self) -> None:
        """Start from the state in which module-level code left the program."""
        self.state = State(self.work.module_state)
        self.symbols, self.tensors = {}, {}
        self.budget.fresh_entry()

    def tick(self) -> int:
        """Return the next moment."""
        self.clock += 1
        return self.clock

    def refuse(self, kind: str, site: Site, calls: tuple[Site, ...] | None = None, depth: int | None = None) -> None:
        """Report a write that torch refuses, or that is wrong in itself.

        ``calls`` lead to a write that was made before. ``depth`` is the number of calls that lead to the function that
        the written tensor comes from: see `holdings.depth_of`.
        """
        stack = self.stack
        here = tuple(stack.calls)
        self.reports.misuses.append(Refusal(kind, site, calls or here, here[:depth], stack.from_outside()))

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
        tensor = self.tensors.get(value)
        if tensor is None:
            grad = Grad.NO if value.grad is Grad.NO and value.node is None else max(value.grad, Grad.MAYBE)
            tensor = self.tensors[value] = Tensor(cell=Cell(grad, value.node, leaf=False))
        return tensor

    def grad(self, value: Value) -> Grad:
        if type(value) is Tensor:
            asked = self.state[GRAD_TESTS] and self.without_grad(value.cell)
            return Grad.NO if asked else self.state.get(value.cell).grad
        return value.grad if type(value) is Unknown else Grad.NO

    def ask(self, *cells: Cell) -> Value:
        """Whether a tensor requires grad that is one of several, each with its cell."""
        if all(self.state.get(cell).grad is Grad.YES for cell in cells):
            return Const(True)
        symbol = self.symbol("requires_grad", *cells, scalar=True)
        for cell in cells:
            tests = self.state[GRAD_TESTS]
            self.state.set(tests, cell, tests.get(cell, frozenset()) | {symbol})
        return symbol

    def without_grad(self, cell: Cell) -> bool:
        """Whether a tensor was asked whether it requires grad, and does not on the present path."""
        asked = self.state[GRAD_TESTS].get(cell, frozenset())
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
                outer, self.alike = self.alike, SharedResult()
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


_COMPUTED = frozenset({Tensor, Unknown, Choice, Tuple, List, Dict, Object})
"""The kinds of values that something was computed for, or that hold such."""
