"""Names in the program text. What judges text here goes away as values learn to answer."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..heap.values import Ref
from ..program.nodes import parts
from ..trace.frames import Frame

METADATA = frozenset(
    "shape size dim ndim dtype device layout numel nelement stride is_contiguous is_floating_point requires_grad grad "
    "grad_fn is_leaf new_zeros new_ones new_empty new_full new_tensor data_ptr type element_size is_cuda names "
    "append extend insert clear requires_grad_ register_hook retain_grad data detach_ zero_ fill_ copy_ resize_ "
    "normal_ uniform_ bernoulli_ backward _version".split()
)
"""What reads no values of a tensor or elements of a list, or overwrites them whole."""
QUIET = frozenset({"len", "isinstance", "type", "id", "hasattr", "print"})
"""Builtins that do not compute with what they are given."""


def mentioned(node: cst.CSTNode) -> Iterator[str]:
    """The names in a piece of program text."""
    if type(node) is cst.Name:
        yield node.value
    for child in parts(node):
        yield from mentioned(child)


def computed_with(node: cst.CSTNode) -> Iterator[str]:
    """The names in a piece of program text, but for those that only a shape or a dtype is asked of."""
    if type(node) is cst.Attribute and node.attr.value in _DESCRIBING:
        return
    if type(node) is cst.Name:
        yield node.value
    for child in parts(node):
        yield from computed_with(child)


_DESCRIBING = frozenset("shape size dim ndim dtype device layout numel nelement stride requires_grad".split())


def written_name(node: cst.CSTNode, frame: Frame) -> str:
    """The variable that a writing expression is spelled with; empty where it is no plain variable."""
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and not _is_function(node.func, frame):
            node = node.func.value
        elif node.args and not node.args[0].star:
            node = node.args[0].value
    elif isinstance(node, cst.AugAssign):
        node = node.target
    while isinstance(node, (cst.Subscript, cst.Call)):
        node = node.value if isinstance(node, cst.Subscript) else node.func
        node = node.value if isinstance(node, cst.Attribute) else node
    return node.value if type(node) is cst.Name else ""


def of_attribute(node: cst.CSTNode) -> bool:
    """Whether a write is spelled with what an instance holds: ``self.h[0] = 0``, ``self.h.add_(1)``."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value.endswith("_"):
        node = node.func.value
    elif isinstance(node, cst.AugAssign):
        node = node.target
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute)


def _is_function(called: cst.Attribute, frame: Frame) -> bool:
    """Whether ``a.b(...)`` is told to write to its argument, as the functions of a module are, not to ``a``."""
    owner = called.value
    while isinstance(owner, cst.Attribute):
        owner = owner.value
    scope = frame if isinstance(owner, cst.Name) else None
    while scope is not None and isinstance(owner, cst.Name) and owner.value not in scope.vars:
        scope = scope.parent
    found = scope.vars[owner.value] if scope is not None and isinstance(owner, cst.Name) else None
    return not called.attr.value.endswith("_") or isinstance(found, Ref)


def names(target: cst.CSTNode) -> frozenset[str]:
    """The variables that an assignment target binds."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return frozenset().union(*(names(element.value) for element in target.elements))
    return frozenset({target.value}) if isinstance(target, cst.Name) else frozenset()
