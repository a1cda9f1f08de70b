"""Where the running program stands: its own frames, without those of PyTorch and of this package.

A stack is kept as code objects and instruction offsets. That costs a microsecond or two; lines and functions are looked
up when somebody reads them.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

DEPTH = 6
"""How many frames of the program a stack keeps, the innermost first."""

Stack = tuple[tuple[CodeType, int], ...]

_USER, _INSIDE, _COMPILED, _END = range(4)
_TORCH = str(Path(torch.__file__).parent) + "/"
_PACKAGE = str(Path(__file__).parent.parent) + "/"
_STANDARD = sysconfig.get_paths()["stdlib"] + "/"
_RUNNERS = ("/_pytest/", "/pluggy/", "/execnet/", "/xdist/")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w+)_at_\d+")
_kinds: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the program that is being executed; 0 where Dynamo has rewritten the function, and none is known."""

    file: str
    line: int
    function: str

    @property
    def source(self) -> str:
        """The text of the line, "" where it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        if not self.line:
            return f"{short(self.file)} in {self.function}, compiled: the line is not known"
        return f"{short(self.file)}:{self.line} in {self.function}"


def short(file: str) -> str:
    """A path as people in the current directory would write it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def user_stack(frame: FrameType | None, depth: int = DEPTH) -> tuple[Stack, bool]:
    """The program's own frames from ``frame`` outwards, and whether compiled code stands between them."""
    stack = []
    compiled = False
    while frame is not None:
        code = frame.f_code
        kind = _kinds.get(code.co_filename)
        if kind is None:
            kind = _kinds[code.co_filename] = _kind(code.co_filename)
        if kind == _USER:
            stack.append((code, frame.f_lasti))
            if len(stack) == depth:
                break
        elif kind == _COMPILED:
            compiled = compiled or not stack
        elif kind == _END:
            break
        frame = frame.f_back
    return tuple(stack), compiled


def here(depth: int = DEPTH) -> tuple[Stack, bool]:
    """`user_stack` of the caller."""
    return user_stack(sys._getframe(1), depth)


def resolve(stack: Stack) -> tuple[Frame, ...]:
    """Lines and functions of a stack."""
    return tuple(_frame(code, offset) for code, offset in stack)


def _frame(code: CodeType, offset: int) -> Frame:
    """Dynamo's own code, as for what follows a graph break, says nothing of lines and has other names."""
    dynamo: Any = sys.modules.get("torch._dynamo.convert_frame")
    if dynamo is None or code not in dynamo.output_codes:
        return Frame(code.co_filename, _line(code, offset), code.co_name)
    return Frame(code.co_filename, 0, _RESUMED.sub(r"\1", code.co_name))


def _line(code: CodeType, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def is_ours(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith(_PACKAGE)


def is_users(frame: FrameType) -> bool:
    """Whether a frame is the program's own."""
    file = frame.f_code.co_filename
    kind = _kinds.get(file)
    if kind is None:
        kind = _kinds[file] = _kind(file)
    return kind == _USER


@lru_cache(maxsize=8)
def tree_of(file: str) -> ast.Module:
    """The text of a file as a tree; an empty one where it can't be parsed: a template, or a file that changed since."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])


def _kind(file: str) -> int:
    if any(runner in file for runner in _RUNNERS):
        return _END
    if file.startswith(_TORCH):
        return _COMPILED if "/_aot_autograd/" in file else _INSIDE
    generated = file.startswith(("<frozen ", "<eval_with_key>"))
    standard = file.startswith(_STANDARD) and "/site-packages/" not in file
    return _INSIDE if generated or standard or is_ours(file) else _USER
