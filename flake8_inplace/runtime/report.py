"""What the sanitizer found: which tensor, who saved it, who overwrote it, and what to write instead."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

from .frames import Frame, tree_of

WORDING = "one of the variables needed for gradient computation has been modified by an inplace operation"
"""How PyTorch's own error begins; handlers that look for it find it here too."""


_OUT_OF_SIGHT = "overwritten where the sanitizer cannot see: compiled code, an extension, numpy or a thread"

_LATER = "update after every backward that needs the old values, or run the forward again"


@dataclass(frozen=True, slots=True)
class Write:
    """An operation that overwrote a saved tensor, as a tensor of this shape; its stack innermost first."""

    op: str
    stack: tuple[Frame, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A tensor that autograd saved, and that was overwritten afterwards.

    ``reached`` says that a backward pass asked for it; ``silent`` that PyTorch alone would have computed a wrong
    gradient instead of raising. Versions are those of PyTorch's counter, when the tensor was saved and when the hazard
    was seen. ``writes`` is empty where the write was out of sight: compiled code, an extension, another process.
    ``leaf``: it is a parameter, or another leaf that requires grad, or a view of one.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    producer: str
    saved_by: str
    slot: str
    saved_at: tuple[Frame, ...]
    writes: tuple[Write, ...]
    version_saved: int
    version_now: int
    reached: bool
    silent: bool = False
    times: int = 1
    leaf: bool = False

    @property
    def advice(self) -> str:
        """What to change in the program."""
        for write in self.writes:
            if write.stack:
                return _LATER if self.leaf else _advice(write)
        return "give autograd a tensor that nothing else writes to: `clone()` it before it is used"

    def same_lines(self, other: Hazard) -> bool:
        """Whether the same lines save and overwrite."""
        return (self.saved_at, self.writes) == (other.saved_at, other.writes)

    def headline(self) -> str:
        """PyTorch's own sentence about it."""
        source = f", which is {self.producer}," if self.producer else ""
        versions = f"is at version {self.version_now}; expected version {self.version_saved} instead"
        if self.silent:
            versions = "was overwritten where PyTorch does not look, and its gradient would be wrong without an error"
        return f"{WORDING}: [{self.tensor} {list(self.shape)}]{source} {versions}."

    def __str__(self) -> str:
        slot = f" ({self.slot})" if self.slot else ""
        lines = [self.headline(), f"tensor: shape {self.shape}, {self.dtype}, {self.device}"]
        lines += [f"saved by {self.saved_by}{slot}", *_stack(self.saved_at)]
        for write in self.writes:
            part = f", as a view of shape {write.shape}" if write.shape != self.shape else ""
            lines += [f"overwritten by {write.op}{part}", *_stack(write.stack)]
        if not self.writes:
            lines.append(_OUT_OF_SIGHT)
        if self.times > 1:
            lines.append(f"the same happened {self.times} times")
        lines.append(f"to change: {self.advice}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return asdict(self) | {"advice": self.advice}


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A value that was read after something else had overwritten its memory. That may be meant.

    ``taken_at``: where the program took the tensor, or last used it; ``reader``: the function that read it.
    ``writes`` is empty where the write was out of sight: numpy, compiled code, an extension, another process.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    taken_at: tuple[Frame, ...]
    writes: tuple[Write, ...]
    reader: str
    read_at: tuple[Frame, ...]

    def __str__(self) -> str:
        lines = ["a value was read after something else had overwritten it"]
        lines += [
            f"tensor: shape {self.shape}, {self.dtype}, {self.device}; taken, or last used",
            *_stack(self.taken_at),
        ]
        for write in self.writes:
            part = f", as a tensor of shape {write.shape}" if write.shape != self.shape else ""
            lines += [f"overwritten by {write.op}{part}", *_stack(write.stack)]
        if not self.writes:
            lines.append(_OUT_OF_SIGHT)
        lines += [f"read by {self.reader}", *_stack(self.read_at)]
        lines.append("to change, if the old values are meant: take a `clone()`")
        return "\n".join(lines)


@dataclass(slots=True)
class Report:
    """What one sanitizer saw. It is filled while the program runs and complete when the block ends.

    ``notes`` say what could not be watched; ``unpacked`` counts the saved tensors that backward passes took unharmed.
    ``stale`` has each read of a value that had changed, once a pair of lines, if they were looked for.
    """

    notes: list[str] = field(default_factory=list)
    unpacked: int = 0
    stale: list[StaleRead] = field(default_factory=list)
    _hazards: dict[Any, Hazard] = field(default_factory=dict)

    @property
    def hazards(self) -> list[Hazard]:
        """Every hazard once, in the order in which they were seen; those of no backward pass have ``reached`` False."""
        return list(self._hazards.values())

    @property
    def reached(self) -> list[Hazard]:
        """The hazards that a backward pass ran into."""
        return [hazard for hazard in self.hazards if hazard.reached]

    def add(self, hazard: Hazard) -> bool:
        """Take in a hazard; false where the same lines are known already, and were reached already if this one was."""
        key = (hazard.saved_at, tuple((write.op, write.stack) for write in hazard.writes), hazard.silent)
        known = self._hazards.get(key)
        if known is None or (hazard.reached and not known.reached):
            self._hazards[key] = hazard if known is None else replace(hazard, times=known.times)
            return True
        self._hazards[key] = replace(known, times=known.times + 1)
        return False

    def add_stale(self, read: StaleRead) -> bool:
        """Take in a stale read; false where the same lines are known already."""
        known = any(
            (read.read_at, read.taken_at[:1], [write.stack for write in read.writes])
            == (other.read_at, other.taken_at[:1], [write.stack for write in other.writes])
            for other in self.stale
        )
        if not known:
            self.stale.append(read)
        return not known

    def __str__(self) -> str:
        hazards = self.hazards
        parts = [
            f"in-place hazards: {len(self.reached)} reached by a backward pass, {len(hazards) - len(self.reached)} not"
        ]
        parts += [textwrap.indent(str(each), "  ") for each in (*hazards, *self.stale)]
        return "\n\n".join(parts + [f"note: {note}" for note in self.notes])


class InplaceHazardError(RuntimeError):
    """A backward pass needs a tensor that was overwritten.

    ``hazards`` holds it, and after it what else is overwritten and waits for its backward pass.
    """

    def __init__(self, hazards: Iterable[Hazard]) -> None:
        self.hazards = list(hazards)
        super().__init__("\n\n".join(str(hazard) for hazard in self.hazards))


class InplaceHazardWarning(UserWarning):
    """What mode "warn" warns of."""


def _stack(stack: tuple[Frame, ...]) -> list[str]:
    lines = []
    for number, frame in enumerate(stack):
        lines.append(f"  {'at' if number == 0 else 'called from'} {frame}")
        if number == 0 and frame.source:
            lines.append(f"      {frame.source}")
    return lines


def _advice(write: Write) -> str:
    if write.op == "numpy":
        return "copy the array first: `numpy().copy()`"
    frame = write.stack[0]
    statement = _statement(frame.file, frame.line)
    if write.op.startswith("_fused_") or (isinstance(statement, ast.Expr) and _method(statement.value) == "step"):
        return _LATER
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, (ast.Name, ast.Attribute)):
        target, operator = ast.unparse(statement.target), ast.unparse(statement).split("=")[0].split()[-1]
        return f"write `{target} = {target} {operator} ...` instead of `{operator}=`"
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Subscript) for target in targets):
            return "write to a `clone()`, or build the tensor with `torch.where`, `torch.cat` or `torch.stack`"
    for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)) if statement else ():
        if any(argument.arg == "inplace" for argument in call.keywords):
            return "drop `inplace=True` here"
        if any(argument.arg == "out" for argument in call.keywords):
            return "drop `out=` and use the tensor that the operator returns"
        if _method(call) == write.op and hasattr(torch.Tensor, write.op.rstrip("_")):
            return f"call `{write.op.rstrip('_')}` and use its result instead of `{write.op}`"
    return f"use the out-of-place form of `{write.op}` here, or let it work on a `clone()`"


def _method(node: ast.expr) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def _statement(file: str, line: int) -> ast.stmt | None:
    """The innermost statement that stands on a line."""
    around = [node for node in ast.walk(tree_of(file)) if isinstance(node, ast.stmt)]
    inside = [node for node in around if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return min(inside, key=lambda node: (node.end_lineno or node.lineno) - node.lineno, default=None)
