"""A copy of what an operation keeps, made where it keeps it: ``y = h.clone() * w``, or ``h = torch.exp(x).clone()``.

The write stays, and reaches everybody that it reached; no value changes. Whether the author wants that is another
matter: where somebody else holds the tensor, the error may have been the only thing that said so. Where nobody does,
it is safe, and needs no proof of types, as ``h = h + x`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import libcst as cst

from ..finding import Edit, Finding, Fix, Place
from ..torchfacts import ops
from .syntax import Module, is_method, last_name, moved, overwrites, walk

_SAVES_TRIED = 4
"""How many operations that keep one tensor are given a copy, at most."""
_COPY, _ALIAS = ".clone()", "[...]"
_ELSEWHERE = Place(0, 0)

#: The forms of writing that raise. Where a gradient was wrong in silence, another one is not what the program did.
RAISING = ("op_", "inplace", "augmented", "subscript", "renorm", "callee")


class Copies:
    """One finding, and the operations that keep the tensor. ``layers``: whether the module called makes a new one."""

    def __init__(
        self,
        module: Module,
        finding: Finding,
        after: Callable[[Sequence[Edit]], Sequence[Finding] | None],
        layers: Mapping[Place, bool],
    ) -> None:
        self.module = module
        self.finding = finding
        self.after = after
        self.layers = layers
        nodes: list[cst.BinaryOperation | cst.Call] = [*module.of(cst.BinaryOperation), *module.of(cst.Call)]
        self.operations = {module.start(_name_of(node)): node for node in nodes if self._computes(node)}

    def _computes(self, node: cst.BinaryOperation | cst.Call) -> bool:
        if isinstance(node, cst.Call) and self._is_layer(node):
            return self.layers[self.module.start(_name_of(node))]
        return self.module.fresh(node) and not (isinstance(node, cst.Call) and overwrites(node))

    def _is_layer(self, call: cst.Call) -> bool:
        return self.module.start(_name_of(call)) in self.layers

    def fixes(self, safe: bool) -> Iterator[Fix]:
        saved, edits, lines = self.finding.saved_at, list[Edit](), list[str]()
        while saved is not None and len(lines) < _SAVES_TRIED:
            found = self._copied(saved, edits)
            if found is None:
                return
            lines.append(str(saved.line))
            saved, edits = found
        if lines and saved is None:
            where = " and ".join(dict.fromkeys(lines))
            yield Fix(f"keep a copy on line {where}", safe, tuple(edits))

    def _copied(self, saved: Place, edits: Sequence[Edit]) -> tuple[Place | None, list[Edit]] | None:
        """The edits with a copy for the operation at a place, and the next operation that keeps the tensor.

        What the analysis does not understand keeps nothing. So a view instead of the copy must change nothing.
        """
        for parts in self._choices(saved):
            copied, alias = (
                [*edits, *(edit for part in parts for edit in self._appended(part, suffix))]
                for suffix in (_COPY, _ALIAS)
            )
            if len({edit.start for edit in copied}) < len(copied):
                continue
            behind = self._keeps(copied)
            if behind not in (saved, _ELSEWHERE) and self._keeps(alias) == saved:
                return behind, copied
        return None

    def _keeps(self, edits: Sequence[Edit]) -> Place | None:
        """The operation that keeps the tensor after some edits, by its place before them."""
        findings, place = self.after(edits), moved(self.finding.place, edits)
        left = [finding for finding in findings or () if finding.place == place]
        if findings is None or (left and left[0].saved_at is None):
            return _ELSEWHERE
        places = (before for before in self.operations if left and moved(before, edits) == left[0].saved_at)
        return next(places, _ELSEWHERE) if left else None

    def _choices(self, saved: Place) -> Iterator[Sequence[cst.BaseExpression]]:
        """What an operation may keep: its result, one of its operands and arguments, or all of them."""
        node = self.operations.get(saved)
        if node is None:
            return
        yield [node]
        parts = self._operands(node)
        again = len({self.module.code(part) for part in parts}) < len(parts)
        if isinstance(node, cst.Call) and any(argument.star for argument in node.args):
            return
        if again and isinstance(node, cst.Call) and (self._is_layer(node) or "attention" in last_name(node.func)):
            return  # an attention computes in another way where query and key are one tensor
        # A copy is made when the operand is evaluated: no later operand may write to it.
        early = next((at for at, part in reversed(list(enumerate(parts))) if not self._only_reads(part)), 0)
        yield from ([part] for part in parts[early:])
        if early == 0 and len(parts) > 1:
            yield parts

    def _operands(self, node: cst.BinaryOperation | cst.Call) -> list[cst.BaseExpression]:
        """In the order in which they are evaluated."""
        if isinstance(node, cst.BinaryOperation):
            return [node.left, node.right]
        receiver = [node.func.value] if isinstance(node.func, cst.Attribute) and is_method(node) else []
        given = [argument.value for argument in node.args]
        return [*receiver, *(value for value in given if not isinstance(value, (cst.BaseString, cst.BaseNumber)))]

    def _only_reads(self, part: cst.BaseExpression) -> bool:
        return all(self._reads(node) for node in walk(part) if isinstance(node, (cst.Call, cst.NamedExpr, cst.Await)))

    def _reads(self, node: cst.CSTNode) -> bool:
        if not isinstance(node, cst.Call) or overwrites(node):
            return False
        return self._computes(node) or (is_method(node) and last_name(node.func) in ops.tensor_only_methods())

    def _appended(self, node: cst.BaseExpression, suffix: str) -> list[Edit]:
        start, end = self.module.start(node), self.module.end(node)
        if node.lpar or isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)):
            return [Edit(end, end, suffix)]
        return [Edit(start, start, "("), Edit(end, end, f"){suffix}")]


def _name_of(node: cst.BinaryOperation | cst.Call) -> cst.CSTNode:
    """Where the analysis says that an operation stands."""
    if isinstance(node, cst.BinaryOperation):
        return node.operator
    return node.func.attr if isinstance(node.func, cst.Attribute) else node.func
