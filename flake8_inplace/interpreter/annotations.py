"""What an annotation says about a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst

from ..heap.values import NONE, Ref
from ..program.scan import FRAMEWORKS
from ..program.tree import expression
from ..trace.trace import Trace


def _unknown(name: str) -> cst.BaseExpression | None:
    """Of no name it is known what it stands for."""
    return None


def _no_module(name: str) -> bool:
    """No name is one of a foreign module."""
    return False


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of a file stand for: another annotation, or a module that torch's types do not come from."""

    alias: Callable[[str], cst.BaseExpression | None] = _unknown
    is_foreign: Callable[[str], bool] = _no_module


def dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def annotation(node: cst.Annotation | None, names: Names) -> str:
    """Return the kind of value that an annotation names.

    - "tensor", "parameter", "maybe" (an optional tensor)
    - "tensors" (a sequence of tensors)
    - "data" (a tensor that has no gradient)
    - "array" (of numpy)
    - "scalar" (a number, or an optional array)
    - "other" (no tensor, but it may contain some)
    - "" if the annotation doesn't tell
    """
    if node is None:
        return ""
    return _annotated_as(node.annotation, names)


def names_of(m: Trace, path: str) -> Names:
    """Return what the names of a file stand for.

    Aliases are ``Image = Float[Tensor, "3 h w"]`` and ``TensorType as TT``. After ``from cutlass import cute``, a
    ``cute.Tensor`` is none of torch.
    """

    def alias(name: str) -> cst.BaseExpression | None:
        module = m.text.module(path)
        pieces = module.file.binders.get(name, ()) if module is not None else ()
        if len(pieces) != 1 or pieces[0].definition:
            return None
        lines = [line for line in m.text.read(pieces[0]).body if isinstance(line, cst.SimpleStatementLine)]
        return next((found for line in lines for part in line.body if (found := _bound(part, name)) is not None), None)

    def is_foreign(name: str) -> bool:
        module = m.text.module(path)
        if module is None:
            return False
        for piece in module.file.binders.get(name, ()):
            m.load(piece, module.frame)
        value = m.see(module.frame.vars.get(name, NONE))
        return isinstance(value, Ref) and value.name.partition(".")[0] not in _TYPED

    return Names(alias, is_foreign)


def _bound(part: cst.BaseSmallStatement, name: str) -> cst.BaseExpression | None:
    """What a statement binds a name to, or the name that it imports under another."""
    if isinstance(part, (cst.Assign, cst.AnnAssign)):
        return part.value
    if isinstance(part, cst.ImportFrom) and not isinstance(part.names, cst.ImportStar):
        renamed = (alias for alias in part.names if alias.evaluated_alias == name)
        return next((alias.name for alias in renamed if isinstance(alias.name, cst.Name)), None)
    return None


def _annotated_as(node: cst.BaseExpression, names: Names) -> str:
    if type(node) is cst.SimpleString:
        try:
            node = expression(str(node.evaluated_value))
        except (SyntaxError, ValueError):
            return ""
    if type(node) is cst.Attribute:
        name = node.attr.value
        if name in _SAID and names.is_foreign(dotted(node).partition(".")[0]):
            return ""
    elif type(node) is cst.Name:
        name = node.value
        meant = names.alias(name) if name not in _SAID else None
        if meant is not None:
            return _annotated_as(meant, Names())  # an alias of an alias is not followed
    elif type(node) is cst.Subscript:
        return _of_generic(node, names)
    elif isinstance(node, cst.BinaryOperation):
        parts = [_annotated_as(node.left, names), _annotated_as(node.right, names)]
        return "maybe" if not TENSORS.isdisjoint(parts) else ""
    else:
        return ""
    vague = len(name) == 1 or name in ("Any", "object") or any(word in name.lower() for word in ("tensor", "array"))
    return _SAID.get(name, "" if vague else "other")


def _of_generic(node: cst.Subscript, names: Names) -> str:
    """What ``Optional[Tensor]`` or ``list[Tensor]`` is."""
    outer = dotted(node.value).rpartition(".")[2]
    if type(node.value) is cst.Name and outer not in _KNOWN and (meant := names.alias(outer)) is not None:
        outer = dotted(meant).rpartition(".")[2]
    inside = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    if outer == "TensorType":
        return _of_type(inside)
    parts = [_annotated_as(part, names) for part in inside]
    if not TENSORS.isdisjoint(parts):
        return _HOLDING.get(outer, "")
    return "scalar" if outer == "Optional" and {"scalar", "array"} >= set(parts) else _SAID.get(outer, "")


def _of_type(inside: list[cst.BaseExpression]) -> str:
    """What a ``TensorType["batch", torch.long]`` of torchtyping is: data if it names a type without a gradient."""
    return "data" if any(dotted(part).rpartition(".")[2] in _WHOLE for part in inside) else "tensor"


TENSORS = frozenset({"tensor", "parameter"})
_TYPED = FRAMEWORKS | {"numpy", "jaxtyping", "typing", "collections", "builtins", "pathlib"}
"""Packages whose types have the names below."""
_WHOLE = frozenset("bool int long short uint8 int8 int16 int32 int64".split())
_HOLDING = {
    kind: said
    for said, kinds in {
        "maybe": "Optional",
        "tensors": "List list Sequence",
        "other": "Dict dict Mapping Tuple tuple",
        "tensor": "Float Float16 Float32 Float64 BFloat16 Complex Complex64 Complex128 Inexact Num Real Shaped",
        "data": "Bool Int Int8 Int16 Int32 Int64 Integer UInt UInt8 UInt16 UInt32 UInt64",
    }.items()
    for kind in kinds.split()
}
"""The kinds of generic types with a tensor in their brackets: Python's own, and those of jaxtyping."""
_SAID = {
    name: said
    for said, names in {
        "tensor": "Tensor FloatTensor",
        "parameter": "Parameter",
        "data": "LongTensor BoolTensor IntTensor ByteTensor",
        "array": "ndarray NDArray",
        "scalar": "int float bool str None Path dtype device",
        "other": "Dict dict Mapping List list Sequence Tuple tuple",
    }.items()
    for name in names.split()
}
_KNOWN = _SAID.keys() | _HOLDING.keys() | {"TensorType", "Union"}
