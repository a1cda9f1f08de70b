"""Whether a line reads what another one has overwritten: the hazards about which PyTorch says nothing.

A finding of these kinds names the reader: "read as `kept` on line 40". What stands under that name is compared before
and after the overwriting line, and looked up again when the reading line comes. It is looked up without calling
anything of the program: variables, attributes that stand in an instance, constant indices.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy
import torch

from ..finding import Finding, Place
from .tensors import Fingerprint, detached, fingerprint_of

_READS = re.compile(r"read as `(.+)` here")
_USED = ("used here", "read here")
_MOST = 64
"""The most tensors of one value that are compared."""
_INDEX = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
"""What a constant index that takes a view is made of."""
_Kept = tuple[torch.Tensor, Fingerprint]


class _Unknown(Exception):
    """What an expression stands for cannot be looked up without running something."""


@dataclass(slots=True)
class Reader:
    """The reading place of a finding, and what became of the value there.

    ``overwritten``: the overwriting line changed what the reader goes by. ``stale``: the reader then came to it.
    ``fresh``: how often it came to a value that the line had left alone.
    """

    file: str
    line: int
    name: str
    expression: ast.expr
    kept: list[_Kept] = field(default_factory=list)
    overwritten: bool = False
    stale: bool = False
    fresh: int = 0

    def before(self, frame: FrameType) -> None:
        """The overwriting line is about to run."""
        if self.overwritten:
            return
        value = self._looked_up(frame)
        tensors = list(_tensors(value))[:_MOST] if value is not None else []
        self.kept = [(tensor, mark) for tensor in tensors if (mark := fingerprint_of(tensor)) is not None]

    def after(self) -> None:
        """The overwriting line has run."""
        self.overwritten = self.overwritten or any(not mark.fits(tensor) for tensor, mark in self.kept)

    def read(self, frame: FrameType) -> None:
        """The reading line is about to run."""
        try:
            value = _value(self.expression, frame)
        except _Unknown:
            return
        known = {_memory(tensor) for tensor, _ in self.kept}
        if known.isdisjoint(map(_memory, _tensors(value))):
            self.overwritten = False  # it goes by another value now
        elif self.overwritten:
            self.stale = True
        else:
            self.fresh += 1

    def _looked_up(self, frame: FrameType | None) -> object:
        """What the reader's expression stands for: in the function that reads, or where it means something at all."""
        frames = list(_callers(frame))
        own = [each for each in frames if each.f_code.co_filename == self.file and _has_line(each, self.line)]
        for each in own or frames:
            try:
                return _value(self.expression, each)
            except _Unknown:
                continue
        return None


def reader_of(finding: Finding, file: str, tree: ast.Module) -> Reader | None:
    """The reader that a finding names; None if it names none that can be looked up, or one in another file."""
    for other in finding.related:
        named = _READS.fullmatch(other.note)
        if other.path or other.place.line in (finding.line, 0) or not (named or other.note in _USED):
            continue
        try:
            expression = ast.parse(named[1], mode="eval").body if named else _at(tree, other.place)
        except SyntaxError:
            continue
        if expression is not None and _is_path(expression):
            return Reader(file, other.place.line, ast.unparse(expression), expression)
    return None


def _at(tree: ast.Module, place: Place) -> ast.expr | None:
    """What is read at a place: the argument of a call, as in ``net.load_state_dict(best)``, or the longest path."""
    here = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) == (place.line, place.column)
    ]
    given = [call.args[0] for call in here if isinstance(call, ast.Call) and len(call.args) == 1]
    paths = [node for node in given or here if _is_path(node)]
    return max(paths, key=lambda node: node.end_col_offset or 0, default=None)


def _is_path(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_path(node.value) and all(isinstance(part, _INDEX) for part in ast.walk(node.slice))
    return _is_path(node.value) if isinstance(node, ast.Attribute) else isinstance(node, ast.Name)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _has_line(frame: FrameType, line: int) -> bool:
    return any(own == line for _, _, own in frame.f_code.co_lines())


def _value(node: ast.expr, frame: FrameType) -> Any:
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return names[node.id]
        raise _Unknown
    if isinstance(node, ast.Attribute):
        return _attribute(_value(node.value, frame), node.attr)
    assert isinstance(node, ast.Subscript)
    owner, index = _value(node.value, frame), _index(node.slice)
    try:
        if type(owner) is torch.Tensor:
            with torch._C._DisableTorchDispatch():
                return detached(owner)[index]
        if isinstance(owner, (dict, list, tuple, numpy.ndarray)):
            return owner[index]
    except (LookupError, TypeError, ValueError):
        pass
    raise _Unknown


def _index(node: ast.expr) -> Any:
    """A constant index: ``0``, ``:2``, ``..., 1``."""
    if isinstance(node, ast.Tuple):
        return tuple(map(_index, node.elts))
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else ast.literal_eval(part) for part in parts))
    return ast.literal_eval(node)


def _attribute(owner: object, name: str) -> Any:
    """An attribute that stands in an instance: no property is run."""
    tables = [getattr(owner, "__dict__", {})]
    if isinstance(owner, torch.nn.Module):
        tables += [tables[0].get(table, {}) for table in ("_parameters", "_buffers", "_modules")]
    for table in tables:
        if name in table:
            return table[name]
    if isinstance(owner, torch.Tensor) and name in ("data", "grad"):
        return getattr(owner, name)
    raise _Unknown


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors and arrays in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, numpy.ndarray):
        try:
            yield torch.from_numpy(value)
        except (TypeError, ValueError):  # of a type, or with strides, that PyTorch has not
            return
    elif isinstance(value, torch.nn.Module):
        yield from value.parameters()
        yield from value.buffers()
    elif isinstance(value, (list, tuple)):
        for item in value[:_MOST]:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in list(value.values())[:_MOST]:
            yield from _tensors(item)


def _memory(tensor: torch.Tensor) -> object:
    """What tells the memory of a tensor from that of others that live at the same time."""
    if tensor.layout is not torch.strided:
        return id(tensor)
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()
