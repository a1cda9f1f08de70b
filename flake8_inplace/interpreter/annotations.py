"""What an annotation says about a value."""

from __future__ import annotations

import libcst as cst

from ..program.tree import expression


def dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def annotation(node: cst.Annotation | None) -> str:
    """Return the kind of value that an annotation names.

    - "tensor", "parameter", "maybe" (an optional tensor)
    - "tensors" (a sequence of tensors)
    - "data" (a tensor that has no gradient)
    - "scalar"
    - "other" (no tensor, but it may contain some)
    - "" if the annotation doesn't tell
    """
    if node is None:
        return ""
    return _annotated_as(node.annotation)


def _annotated_as(node: cst.BaseExpression) -> str:
    if type(node) is cst.SimpleString:
        try:
            node = expression(str(node.evaluated_value))
        except (SyntaxError, ValueError):
            return ""
    if type(node) is cst.Attribute:
        name = node.attr.value
    elif type(node) is cst.Name:
        name = node.value
    elif type(node) is cst.Subscript:
        outer = dotted(node.value).rpartition(".")[2]
        parts = [_annotated_as(e.slice.value) for e in node.slice if isinstance(e.slice, cst.Index)]
        if not TENSORS.isdisjoint(parts):
            return _HOLDING.get(outer, "")
        return "scalar" if outer == "Optional" and set(parts) == {"scalar"} else _SAID.get(outer, "")
    elif isinstance(node, cst.BinaryOperation):
        parts = [_annotated_as(node.left), _annotated_as(node.right)]
        return "maybe" if not TENSORS.isdisjoint(parts) else ""
    else:
        return ""
    vague = len(name) == 1 or name in ("Any", "object") or any(word in name.lower() for word in ("tensor", "array"))
    return _SAID.get(name, "" if vague else "other")


TENSORS = frozenset({"tensor", "parameter"})
_HOLDING = {"Optional": "maybe", "Float": "tensor", "Int": "data", "Bool": "data"} | {
    kind: said
    for said, kinds in {"tensors": "List list Sequence", "other": "Dict dict Mapping Tuple tuple"}.items()
    for kind in kinds.split()
}
"""The kinds of generic types with a tensor in their brackets: Python's own, and those of jaxtyping."""
_SAID = {
    name: said
    for said, names in {
        "tensor": "Tensor FloatTensor",
        "parameter": "Parameter",
        "data": "LongTensor BoolTensor IntTensor ByteTensor",
        "scalar": "int float bool str ndarray None Path dtype device",
        "other": "Dict dict Mapping List list Sequence Tuple tuple",
    }.items()
    for name in names.split()
}
