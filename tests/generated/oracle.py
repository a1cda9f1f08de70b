"""Runs a generated program under torch and says what backward thinks of its in-place writes.

The verdict comes from a plain run of the text. `trace` runs it once more under hooks and names the lines: which saved
tensors were overwritten, where they were saved and where they were written. (Hooks switch autograd's own check off, so
they can never give the verdict.)
"""

from __future__ import annotations

import ast
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

FILE = "<program>"
SAVED = "modified by an inplace operation"
BASE = "is a view and its base or another view of its base has been modified inplace"
REFUSED = (
    "is being used in an in-place operation",
    "is being modified inplace",
    BASE,
    "more than one element of the written-to tensor refers to a single memory location",
)
SETTINGS = {"flag": (False, True), "n": (1, 3)}

torch.set_num_threads(1)


@dataclass(frozen=True)
class Verdict:
    """`outcome` is clean, saved (a saved tensor was overwritten), refused (the write itself raised) or error."""

    outcome: str
    message: str = ""


@dataclass(frozen=True)
class Place:
    """Lines of the program, innermost call first."""

    lines: tuple[int, ...]
    op: str = ""


@dataclass(frozen=True)
class Overwritten:
    """A saved tensor that backward would have refused: where it was saved, and each write after that."""

    saved: Place
    writes: tuple[Place, ...]


@dataclass
class _Entry:
    tensor: torch.Tensor
    version: int
    seen: int
    saved: Place
    writes: list[Place] = field(default_factory=list)
    bad: bool = False


def settings(source: str) -> Iterator[tuple[Any, ...]]:
    """Every combination of the arguments of `program`."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "program":
            names = [a.arg for a in node.args.args]
            yield from itertools.product(*(SETTINGS["n" if n == "n" else "flag"] for n in names))


def _load(code: CodeType) -> Callable[..., object]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(code, namespace)
    function: Callable[..., object] = namespace["program"]
    return function


def classify(error: BaseException) -> str:
    """Which kind of error this is."""
    text = str(error)
    if isinstance(error, RuntimeError):
        if SAVED in text:
            return "saved"
        if any(part in text for part in REFUSED):
            return "refused"
    return "error"


def run_once(code: CodeType, arguments: tuple[Any, ...]) -> Verdict:
    torch.manual_seed(0)
    try:
        _load(code)(*arguments)
    except Exception as error:
        return Verdict(classify(error), f"{type(error).__name__}: {error}"[:300])
    return Verdict("clean")


def judge(source: str) -> Verdict:
    """What torch says, over every setting of the program's parameters.

    Any foreign error makes the program useless and wins; then a refused write, then a saved-tensor error.
    """
    code = compile(source, FILE, "exec")
    worst = Verdict("clean")
    rank = {"clean": 0, "saved": 1, "refused": 2, "error": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in settings(source):
            verdict = run_once(code, arguments)
            if rank[verdict.outcome] > rank[worst.outcome]:
                worst = verdict
    return worst


def _place(op: str = "") -> Place:
    lines = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return Place(tuple(lines), op)


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Blames each rise of a saved tensor's version on the writing op dispatched just before it was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[_Entry] = []
        self.last = Place(())

    def settle(self) -> None:
        for entry in self.entries:
            version = entry.tensor._version
            if version != entry.seen:
                entry.seen = version
                entry.writes.append(self.last)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.settle()
        result = func(*args, **(kwargs or {}))
        if func._schema.is_mutable:
            self.last = _place(func._schema.name.removeprefix("aten::"))
        return result

    def pack(self, tensor: torch.Tensor) -> _Entry:
        self.settle()
        entry = _Entry(tensor.detach(), tensor._version, tensor._version, _place())
        self.entries.append(entry)
        return entry

    def unpack(self, entry: _Entry) -> torch.Tensor:
        self.settle()
        if entry.tensor._version != entry.version:
            entry.bad = True
        return entry.tensor


def trace(source: str) -> list[Overwritten]:
    """Every saved tensor that was overwritten before a backward read it, over every setting of the parameters."""
    code = compile(source, FILE, "exec")
    found: dict[Overwritten, None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in settings(source):
            torch.manual_seed(0)
            recorder = _Recorder()
            try:
                with recorder, saved_tensors_hooks(recorder.pack, recorder.unpack):
                    _load(code)(*arguments)
            except Exception:
                pass
            for entry in recorder.entries:
                if entry.bad:
                    found[Overwritten(entry.saved, tuple(dict.fromkeys(entry.writes)))] = None
    return list(found)
