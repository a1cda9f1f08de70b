"""Under which variables the program holds one tensor, when it is overwritten and when it is read.

``old = mean; mean.mul_(2); old - mean``: both variables are one tensor, so neither memory nor version tells them apart.
The frames of the program do: at a write they show who else holds the tensor, and at a read, what it is read as. Only
variables are looked at, that were bound before the write, and that no instruction in between binds.
"""

from __future__ import annotations

import ast
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ..hazards.intent import says_in_place
from .frames import Stack, is_users, tree_of

_ASKING = frozenset({"locals", "vars", "dir", "eval", "exec"})
_STORES = frozenset(name for name in dis.opname if name.startswith(("STORE_", "DELETE_")))
_Variable = tuple[FrameType, str]
_Span = tuple[int | None, int | None, int | None, int | None]


@dataclass(slots=True)
class _Alias:
    """A variable that held the tensor when it was overwritten.

    ``offset``: where its frame stood then; ``stack``: who had read it last; ``clock``: when the overwriting call began.
    """

    offset: int
    stack: Stack
    clock: int


@dataclass(slots=True)
class _Held:
    """The variables of one tensor, by frame and name. ``meant``: those that it was written by.

    ``quiet``: those that held it when a call wrote to it that was not given it, such as ``optimizer.step()``. They mean
    the new value, unless that is compared with itself.
    ``blank``: it was made of no other tensor, and nothing has read it yet.
    """

    blank: bool = False
    aliases: dict[_Variable, _Alias] = field(default_factory=dict)
    quiet: dict[_Variable, _Alias] = field(default_factory=dict)
    meant: set[_Variable] = field(default_factory=set)


class Names:
    """What one thread overwrites under one variable and reads under another.

    A frame is kept no longer than to the next call of PyTorch after it has ended.
    """

    def __init__(self) -> None:
        self._held: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
        self._frames: set[FrameType] = set()

    def clear(self) -> None:
        self._held.clear()
        self._frames.clear()

    def settle(self, frame: FrameType) -> None:
        """Let go of the frames that have ended."""
        if self._frames and not self._frames <= (running := set(_outwards(frame))):
            self._frames &= running
            for held in list(self._held.values()):
                for table in (held.aliases, held.quiet):
                    for key in [key for key in table if key[0] not in running]:
                        del table[key]
                held.meant = {key for key in held.meant if key[0] in running}

    def blank(self, tensor: torch.Tensor) -> None:
        """A call has made a tensor of no other: whoever is given it first may be meant to fill it."""
        self._held.setdefault(tensor, _Held()).blank = True

    def written(self, tensor: torch.Tensor, frame: FrameType, stack: Stack, clock: int) -> None:
        """A call has overwritten a tensor: note who else holds it. `_Alias` says what is kept."""
        users = [each for each in _outwards(frame) if is_users(each)]
        if not users or says_in_place(users[0].f_code.co_name):
            return
        node = _expression(users[0])
        if node is None:
            return
        held: _Held = self._held.setdefault(tensor, _Held())
        own = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        held.meant |= {(users[0], name) for name in own}
        named = users[0] is frame or not own.isdisjoint(_variables(users[0], tensor))
        meant = not named and _is_statement(users[0])  # the call is made for the write: ``optimizer.step()``
        for at, user in enumerate(users):
            meant = meant or (at > 0 and (_is_statement(user) or says_in_place(users[at - 1].f_code.co_name)))
            for name in _variables(user, tensor):
                if (user, name) in held.meant:
                    continue
                alias = _Alias(user.f_lasti, stack, clock)
                if not meant and not (at and held.blank):
                    held.aliases.setdefault((user, name), alias)
                elif at or named:
                    held.meant.add((user, name))
                else:
                    held.quiet.setdefault((user, name), alias)
            self._frames.add(user)
        held.blank = False

    def read(self, tensor: torch.Tensor, frame: FrameType) -> _Alias | None:
        """A call is about to read a tensor: the variable that it is read as, if another one was overwritten."""
        held: _Held | None = self._held.get(tensor)
        if held is not None:
            held.blank = False
        user = next(filter(is_users, _outwards(frame)), None) if held is not None and held.aliases else None
        node = _expression(user) if user is not None else None
        if held is None or user is None or node is None:
            return None
        return self._stale(held, held.aliases, user, node)

    def related(self, tensor: torch.Tensor, frame: FrameType) -> _Alias | None:
        """A call is about to take the difference of a tensor and itself: one of them is a variable of before a write.

        So are those of one loop over two lists, ``for p, old in zip(parameters, before)``.
        """
        user = next(filter(is_users, _outwards(frame)), None)
        node = _expression(user) if user is not None else None
        held: _Held | None = self._held.get(tensor)
        if user is None or node is None:
            return None
        names = set(_operands(node))
        if len(names) == 2 and names <= set(_variables(user, tensor)) and _paired(user, node, names):
            return _Alias(user.f_lasti, (), -1)
        return self._stale(held, held.quiet, user, node) if held is not None else None

    def _stale(self, held: _Held, aliases: dict[_Variable, _Alias], user: FrameType, node: ast.AST) -> _Alias | None:
        """The variable among the operands that has been bound since before a write, which it was not written by."""
        for name in _operands(node):
            alias = aliases.get((user, name))
            if alias is None or (user, name) in held.meant or alias.offset >= user.f_lasti:
                continue
            if not _is_bound_anew(user, name, alias.offset):
                return aliases.pop((user, name))
        return None


def _variables(frame: FrameType, tensor: torch.Tensor) -> list[str]:
    """The variables of a frame that hold a tensor.

    Until Python 3.13, asking for them leaves a snapshot behind, which would keep their values alive. A function that
    asks for its variables itself has that very snapshot: it is left alone.
    """
    code = frame.f_code
    optimized = bool(code.co_flags & inspect.CO_OPTIMIZED)
    if optimized and not _ASKING.isdisjoint(code.co_names):
        return []
    table = frame.f_locals
    found = [name for name, value in table.items() if value is tensor]
    if optimized and sys.version_info < (3, 13):
        table.clear()
    return found


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _expression(frame: FrameType) -> ast.AST | None:
    """The expression or statement whose instruction a frame executes; None where its text is not known."""
    span = next((each for at, each in _spans(frame.f_code) if at == frame.f_lasti), None)
    return _nodes(frame.f_code.co_filename).get(span) if span is not None else None


@lru_cache(maxsize=256)
def _spans(code: CodeType) -> tuple[tuple[int, _Span], ...]:
    """Where in the text each instruction of a code object comes from."""
    positions: Callable[[], Iterator[_Span]] | None = getattr(code, "co_positions", None)  # since Python 3.11
    return tuple((2 * at, span) for at, span in enumerate(positions())) if positions is not None else ()


@lru_cache(maxsize=8)
def _nodes(file: str) -> dict[_Span, ast.AST]:
    """The operations of a file by their places, the outermost where several have one."""
    found: dict[_Span, ast.AST] = {}
    for node in ast.walk(tree_of(file)):
        if isinstance(node, (ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp, ast.Subscript, ast.AugAssign)):
            found.setdefault((node.lineno, node.end_lineno, node.col_offset, node.end_col_offset), node)
    return found


def _operands(node: ast.AST) -> Iterator[str]:
    """The variables that an operation is given as they are."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Call):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        parts = [item for each in given for item in (each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each])]
        if isinstance(node.func, ast.Attribute):
            parts.append(node.func.value)
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, (ast.Subscript, ast.AugAssign)):
        parts = [node.value]
    return (part.id for part in parts if isinstance(part, ast.Name))


@lru_cache(maxsize=256)
def _bindings(code: CodeType) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname in _STORES and isinstance(instruction.argval, str):
            found[instruction.argval] = (*found.get(instruction.argval, ()), instruction.offset)
    return found


def _paired(frame: FrameType, node: ast.AST, names: set[str]) -> bool:
    """Whether one loop around an operation binds both of its variables."""
    assert isinstance(node, (ast.expr, ast.stmt))
    for loop in ast.walk(tree_of(frame.f_code.co_filename)):
        targets: list[ast.expr] = []
        if isinstance(loop, ast.For):
            targets = [loop.target]
        elif isinstance(loop, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            targets = [each.target for each in loop.generators]
        else:
            continue
        inside = (loop.lineno, loop.col_offset) <= (node.lineno, node.col_offset) and (
            (node.end_lineno or 0, node.end_col_offset or 0) <= (loop.end_lineno or 0, loop.end_col_offset or 0)
        )
        if inside and any(
            names <= {part.id for part in ast.walk(each) if isinstance(part, ast.Name)} for each in targets
        ):
            return True
    return False


def _is_bound_anew(frame: FrameType, name: str, write: int) -> bool:
    """Whether a variable may have been bound since an instruction that wrote, in this round of a loop or the next."""
    code, read = frame.f_code, frame.f_lasti
    bindings = _bindings(code).get(name, ())
    if any(write < offset < read for offset in bindings):
        return True
    repeated = any(
        start <= offset <= end and start <= write <= end for offset in bindings for start, end in _loops(code)
    )
    return repeated and not _follows(code, write, read)


@lru_cache(maxsize=256)
def _loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    jumps = [each for each in dis.get_instructions(code) if each.opname.startswith("JUMP_BACKWARD")]
    return tuple((int(jump.argval), jump.offset) for jump in jumps)


@lru_cache(maxsize=256)
def _follows(code: CodeType, write: int, read: int) -> bool:
    """Whether nobody comes to an instruction in a round of a loop but by way of another: no branch leads past that."""
    spans = dict(_spans(code))
    before, after = spans.get(write), spans.get(read)
    if before is None or after is None:
        return False
    for node in ast.walk(tree_of(code.co_filename)):
        for block in ("body", "orelse", "finalbody"):
            lines = getattr(node, block, None)
            if isinstance(lines, list) and any(
                _always(line, before) and any(_contains(later, after) for later in lines[at + 1 :])
                for at, line in enumerate(lines)
            ):
                return True
    return False


def _always(line: ast.stmt, span: _Span) -> bool:
    """Whether a statement comes to a place in any case."""
    if isinstance(line, ast.With):
        return any(_always(inner, span) for inner in line.body)
    return _contains(line, span) and not hasattr(line, "body")


def _contains(line: ast.stmt, span: _Span) -> bool:
    return line.lineno <= (span[0] or 0) <= (line.end_lineno or 0)


def _is_statement(frame: FrameType) -> bool:
    """Whether the result of the call that a frame executes is thrown away."""
    code, after = frame.f_code, frame.f_lasti + 2
    instructions = _opcodes(code)
    while instructions.get(after) in ("CACHE", "NOP"):
        after += 2
    return instructions.get(after) == "POP_TOP"


@lru_cache(maxsize=256)
def _opcodes(code: CodeType) -> dict[int, str]:
    return {2 * at: dis.opname[code.co_code[2 * at]] for at in range(len(code.co_code) // 2)}
