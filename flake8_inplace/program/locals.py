"""What the variables of a function may stand for, judged from what they are bound to: see `reach`."""

from __future__ import annotations

import ast
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

from ..torchfacts import ops as facts

_CONTAINERS = frozenset({"dict", "list", "set", "OrderedDict", "defaultdict", "Counter", "sorted"})
_DISPLAYS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.JoinedStr)
_COUNTING = frozenset({"len", "int", "float", "bool", "ord"})
"""Builtins that return a number, whatever they are given."""
_CHOOSING = frozenset({"max", "min", "abs", "round", "sum", "pow"})
"""Builtins that return a number where they are given numbers."""
_NUMBERS = frozenset({"int", "float", "bool", "str"})
"""Types of what is written to without an effect on a tensor."""
_COUNTS = frozenset({"size", "dim", "ndimension", "numel", "nelement", "element_size", "item"})
"""Methods of tensors that return a number."""
_MAKING = frozenset(
    "arange empty empty_like eye full full_like linspace ones ones_like rand rand_like randint randn randn_like "
    "randperm tensor zeros zeros_like".split()
)
"""Functions of torch that make a tensor without a history."""
_MAKING_ALIKE = frozenset("new_zeros new_ones new_empty new_full new_tensor".split())
_CONVERTING = frozenset("to float double half long int bool cuda cpu type type_as contiguous".split())
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Position = tuple[int, int]
Numbers = frozenset[str] | None
"""The variables that must be numbers for an expression to be one; None where it may be something else anyway."""


@dataclass(slots=True)
class Bindings:
    """What the variables of a scope are bound to; ``.name`` stands for ``self.name``.

    ``counts`` says how often to "any" value, to a "container", and to what :func:`is_new`, and how often one is "shown"
    to be a container by a method; ``numbers`` are the bindings to numbers, each kind with how often it is met, for a
    class may bind one attribute in a thousand methods; ``grown`` is what a variable is augmented by, and ``begun`` the
    variable that its value begins with: ``x = batch.x[0]``.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    numbers: dict[str, dict[frozenset[str], int]] = field(default_factory=dict)
    grown: dict[str, set[Numbers]] = field(default_factory=dict)
    begun: dict[str, str] = field(default_factory=dict)

    def bind(self, name: str) -> None:
        self.counts[name, "any"] += 1

    def assign(self, name: str, value: ast.expr | None, alone: bool = True) -> None:
        """``name = value``, besides what `bind` counts; not ``alone`` in ``a = b = value``.

        None stands for a type that is said without a value.
        """
        if value is None or is_container(value):
            self.counts[name, "container"] += 1
        elif alone and is_new(value):
            self.counts[name, "new"] += 1
        self.number(name, frozenset() if value is None else numeric(value))
        begin = root(value.func if isinstance(value, ast.Call) else value) if value is not None else None
        if isinstance(begin, ast.Name) and not is_self(begin):
            self.begun[name] = begin.id

    def number(self, name: str, numbers: Numbers, times: int = 1) -> None:
        if numbers is not None:
            known = self.numbers.setdefault(name, {})
            known[numbers] = known.get(numbers, 0) + times

    def roots(self, names: set[str], around: Scopes) -> set[str]:
        """Return variables, and those that their values begin with, unless these are numbers."""
        begun = {self.begun[name] for name in names if name in self.begun}
        return names | {name for name in begun if not self._is_number(name, around, set())}

    def augment(self, name: str, value: ast.expr) -> None:
        self.counts[name, "any"] -= 1  # which it counts for as a target
        self.grown.setdefault(name, set()).add(numeric(value))

    def binds(self, name: str, around: Scopes) -> int:
        """How often a variable is bound."""
        return self._of(name, around).counts[name, "any"]

    def include(self, other: Bindings, names: Callable[[str], bool]) -> None:
        """Add what another unit binds some variables to."""
        for key, count in other.counts.items():
            if names(key[0]):
                self.counts[key] += count
        for name, numbers in other.numbers.items():
            if names(name):
                for needed, times in numbers.items():
                    if all(map(names, needed)):  # what a variable of another function is, nobody asks
                        self.number(name, needed, times)
        for name, grown in other.grown.items():
            if names(name):
                by = {needed if needed is not None and all(map(names, needed)) else None for needed in grown}
                self.grown.setdefault(name, set()).update(by)

    def give(self, other: Bindings, names: set[str]) -> None:
        """Let what some variables are bound to be that of another scope: they are ``global``."""
        other.include(self, names.__contains__)
        for key in [key for key in self.counts if key[0] in names]:
            del self.counts[key]

    def is_tensor(self, name: str, around: Scopes, grows: bool = True) -> bool:
        """Whether a variable that is written to may be a tensor.

        ``around`` are the scopes to look for it in, innermost first. ``grows``: what is a number at first may become
        one, with what is added to it.
        """
        here = self._of(name, around)
        bound = here.counts[name, "any"]
        if (bound <= 1 and here.counts[name, "shown"]) or (bound and bound == here.counts[name, "container"]):
            return False
        return not self._is_number(name, around, set(), grows)

    def _of(self, name: str, around: Scopes) -> Bindings:
        for each in around:
            if (name, "any") in each.counts or (name, "shown") in each.counts:
                return each
        return self

    def _is_number(self, name: str, around: Scopes, asked: set[str], grows: bool = True) -> bool:
        """Whether all that a variable is bound to is a number: ``loss = 0`` is none where ``loss += ...`` follows."""
        if name in asked:
            return True
        asked.add(name)
        here = self._of(name, around)
        values = [*here.numbers.get(name, ()), *(here.grown.get(name, ()) if grows else ())]
        if not 0 < here.counts[name, "any"] <= sum(here.numbers.get(name, {}).values()):
            return False
        return all(v is not None and all(self._is_number(other, around, asked) for other in v) for v in values)


Scopes = tuple[Bindings, ...]
"""What the variables that a unit can see are bound to, in the order in which Python looks for them."""


def variable(node: ast.expr) -> str:
    """A name, or ``.name`` for an attribute of ``self``; empty for everything else."""
    if isinstance(node, ast.Name):
        return node.id
    return f".{node.attr}" if isinstance(node, ast.Attribute) and is_self(node.value) else ""


def root(node: ast.expr) -> ast.expr:
    """What an expression is a part of: the ``x`` of ``x.a[0].b``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_self(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def numeric(node: ast.expr) -> Numbers:
    """What has to be a number for an expression to be one."""
    needed: set[str] = set()
    todo = [node]
    while todo:
        match todo.pop():  # calls first: most of what is bound is one
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _COUNTING | _CHOOSING:
                todo += args if name in _CHOOSING else []
            case ast.Call(func=ast.Attribute(attr=name)) if name in _COUNTS:
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
                pass
            case ast.Call():
                return None
            case ast.Constant(value=value):
                if value is None:  # where None stands, others bind the value
                    return None
            case (
                ast.JoinedStr()
                | ast.Attribute(attr="shape" | "ndim")
                | ast.Subscript(value=ast.Attribute(attr="shape"))
            ):
                pass
            case (ast.Name() | ast.Attribute()) as part if name := variable(part):
                needed.add(name)
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                todo += [left, right]
            case ast.UnaryOp(op=op, operand=operand):
                todo += [] if isinstance(op, ast.Not) else [operand]
            case ast.BoolOp(values=values):
                todo += values
            case ast.Compare(left=left, comparators=others, ops=ops):
                same = all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in ops)
                todo += [] if same else [left, *others]
            case _:
                return None
    return frozenset(needed)


def says_number(annotation: ast.expr | None) -> bool:
    """Whether an annotation says that something is a number, or text: ``int``, ``Optional[float]``."""
    todo = [annotation]
    while todo:
        match todo.pop():
            case ast.BinOp(left=left, right=right):
                todo += [left, right]
            case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
                todo.append(inner)
            case ast.Name(id=said) | ast.Constant(value=said) if said is None or said in _NUMBERS:
                pass
            case _:
                return False
    return True


def is_container(node: ast.expr) -> bool:
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return isinstance(node, _DISPLAYS) or called in _CONTAINERS or is_text(node)


def is_text(node: ast.expr | None) -> bool:
    """Whether this is a string, which is no index of a tensor and nothing that a tensor can hold."""
    while isinstance(node, ast.BinOp):
        if is_text(node.right):
            return True
        node = node.left
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_new(node: ast.expr) -> bool:
    """Whether an expression is a tensor just made, that nothing has saved: ``torch.rand(3)``, ``x.clone()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name, owner = node.func.attr, node.func.value
        if any(word.arg in (None, "requires_grad") for word in node.keywords):
            return False
        if name not in _CONVERTING:
            made = name in _MAKING and isinstance(owner, ast.Name) and owner.id == "torch" and not _counts(node, name)
            return made or name == "clone" or (name in _MAKING_ALIKE and not is_self(owner))
        node = owner
    return False


def _counts(call: ast.Call, name: str) -> bool:
    """Whether a tensor has the type of the whole numbers it is made of: ``torch.full(size, 0)``.

    What is written to it may be truncated (`hazards.integers`).
    """
    if name not in ("full", "tensor") or any(word.arg == "dtype" for word in call.keywords):
        return False
    given = [*call.args[name == "full" :][:1], *(w.value for w in call.keywords if w.arg in ("fill_value", "data"))]
    constants = [node.value for value in given for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return bool(constants) and all(type(value) is int for value in constants)


def only_filled(function: ast.AST | None, names: set[str]) -> set[str]:
    """Those of some variables, bound to new tensors alone, that are written to before they are put to another use.

    Nothing can have saved them then. A loop comes back to its beginning, and a function in this one may run any time.
    """
    if not names or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    uses = _uses(function, names)
    furthest = list(accumulate((end for _, end in uses.loops), max))
    found: set[str] = set()
    for name in names - uses.others:
        last, first = uses.writes.get(name, (0, 0)), uses.reads.get(name)
        around = bisect(uses.loops, (last, last)) if first is not None else 0  # begin before the last write ends
        repeated = around > 0 and first is not None and furthest[around - 1] >= first
        if not repeated and (first is None or first > last):
            found.add(name)
    return found


@dataclass(slots=True)
class _Uses:
    """Where a function uses some of its variables."""

    writes: dict[str, _Position] = field(default_factory=dict)  # the end of the last one
    reads: dict[str, _Position] = field(default_factory=dict)  # the first one
    loops: list[tuple[_Position, _Position]] = field(default_factory=list)  # in the order of the text
    others: set[str] = field(default_factory=set)  # written to in another way, or used in a function of their own


def _uses(function: ast.AST, names: set[str]) -> _Uses:
    uses = _Uses()
    written: set[ast.AST] = set()
    todo: list[tuple[ast.AST, bool]] = [(function, False)]
    while todo:
        node, inside = todo.pop()
        inside = inside or (isinstance(node, _SCOPES) and node is not function)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            uses.loops.append((_begin(node), _end(node)))
        for target in _targets(node):
            if isinstance(target, ast.Name) and target.id in names:
                uses.writes[target.id] = max(uses.writes.get(target.id, (0, 0)), _end(node))
                written.add(target)
        if (owner := _overwritten(node)) is not None and owner not in written:
            uses.others.add(owner.id)
        if isinstance(node, ast.Name) and node.id in names:
            if inside:
                uses.others.add(node.id)
            elif isinstance(node.ctx, ast.Load) and node not in written:
                uses.reads[node.id] = min(uses.reads.get(node.id, _begin(node)), _begin(node))
        todo += [(child, inside) for child in ast.iter_child_nodes(node)]
    uses.loops.sort()
    return uses


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement writes to: the ``x`` of ``x[i] = ...``, ``x[i] += ...``, ``x += ...`` and ``x.add_(...)``."""
    match node:
        case ast.Assign(targets=targets):
            yield from (target.value for target in targets if isinstance(target, ast.Subscript))
        case ast.AugAssign(target=target, op=op, value=value):
            if isinstance(op, (ast.Add, ast.Sub)) or numeric(value) == frozenset():  # what saves nothing of it
                yield target.value if isinstance(target, ast.Subscript) else target
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=owner))) if _only_writes(method):
            yield owner


@cache
def _only_writes(method: str) -> bool:
    """Whether a method writes to a tensor and saves nothing of it, as ``zero_`` does; ``relu_`` keeps its result."""
    ops = facts.lookup(f"Tensor.{method}") if method in facts.inplace_methods() else ()
    return bool(ops) and not any(
        save.slot == "self" or save.slot.startswith("result") for op in ops for save in op.saves
    )


def _overwritten(node: ast.AST) -> ast.Name | None:
    """The variable that an expression may write to, wherever it stands."""
    match node:
        case ast.Attribute(value=ast.Name() as owner, attr=method) if method.endswith("_"):
            return owner
        case ast.Subscript(value=ast.Name() as owner, ctx=ast.Store() | ast.Del()):
            return owner
        case ast.AugAssign(target=ast.Name() as owner):
            return owner
        case _:
            return None


def _begin(node: ast.AST) -> _Position:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> _Position:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
