"""A copy where a tensor gets the name or the place under which somebody reads its old value.

``prev = h`` becomes ``prev = h.clone()``, ``steps.append(h)`` becomes ``steps.append(h.clone())``, and a function that
overwrites its argument is given ``h.clone()``. The write stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeGuard

import libcst as cst

from ..finding import Edit, Finding, Fix, Place
from ..rules import RULES
from ..torchfacts import ops
from .facts import FROZEN, NAMED_TUPLE, RECORD, Fact
from .kept import follows
from .scope import scope_around
from .statements import imported, line_above, statement_around
from .syntax import (
    GATHER,
    Module,
    is_library,
    is_method,
    is_path,
    keyed,
    last_name,
    mentions,
    moved,
    overwrites,
    root_of,
    stripped,
    viewed_root,
    walk,
)

_TRIED = 4
"""How many places are given a copy, one after the other and all together."""
_COPY, _ALIAS, _TENSOR_ALIAS = ".clone()", "[...]", ".contiguous()"
_COPY_ARRAY, _ARRAY_ALIAS = ".copy()", ".to_numpy()"
"""What copies an array, and what the analysis takes for an alias of an array, or of what may be one."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One finding of a stale value, and the places where the tensor was bound before the write.

    ``of_calls``: what a call returns may be another name for memory, too.
    """

    module: Module
    finding: Finding
    after: Callable[[Sequence[Edit]], Sequence[Finding] | None]
    of_calls: bool = False

    @property
    def related(self) -> set[Place]:
        return {related.place for related in self.finding.related}

    def kept(self) -> Iterator[Fix]:
        """A copy where the reader's name, attribute or list got the tensor."""
        readers: list[cst.Name | cst.Attribute] = [*self.module.of(cst.Name), *self.module.of(cst.Attribute)]
        for reader in readers:
            name = reader.attr if isinstance(reader, cst.Attribute) else reader
            if not {self.module.start(reader), self.module.start(name)}.isdisjoint(self.related):
                sources = (node for node in self._sources(reader) if not follows(self.module, node, self.finding))
                yield from self._copies(sources, "copy it where it is kept")

    def given(self) -> Iterator[Fix]:
        """A copy as the argument of the call that overwrites it."""
        function = next(
            (node for node in self.module.above(self._written()) if isinstance(node, cst.FunctionDef)), None
        )
        if function is None or _only_writes(function):
            return
        names = {function.name.value}
        calls = [
            call
            for call in self.module.of(cst.Call)
            if last_name(call.func) in names or self.module.start(call) in self.related or self._is_named(call)
            if not overwrites(call)  # which is meant to change its argument
        ]
        arguments = [argument.value for call in calls for argument in call.args if not argument.star]
        yield from self._copies((value for value in arguments if self._names_a_tensor(value)), "hand over a copy")

    def handed(self, unread: bool) -> Iterator[Fix]:
        """A copy as the argument of a call whose result is used, where a function of another file overwrites it.

        ``unread``: only of what is not asked for what was written: it gets the result itself, ``h = scaled(h)``, or is
        a variable that is not read again.
        """
        for call in self.module.of(cst.Call):
            name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
            if self.finding.place not in (self.module.start(call), self.module.start(name)) or overwrites(call):
                continue
            line = self.module.parents[call]
            bound = {self.module.code(each.target) for each in line.targets} if isinstance(line, cst.Assign) else set()
            given = [argument.value for argument in call.args if not argument.star]
            if unread:
                given = [each for each in given if self.module.code(each) in bound or not self._read_after(each, line)]
            if not isinstance(line, cst.Expr):
                yield from self._copies((value for value in given if self._names_a_tensor(value)), "hand over a copy")

    def _read_after(self, value: cst.BaseExpression, statement: cst.CSTNode) -> bool:
        """Whether a value may be read behind a statement: what has a name of its own in this function is not."""
        return not isinstance(value, cst.Name) or scope_around(self.module, value).read_after(value.value, statement)

    def entered(self, fact: Fact) -> Iterator[Fix]:
        """A copy of a parameter at the head of the function that overwrites what it holds."""
        function = self.module.around(self._written(), cst.FunctionDef)
        if function is None or not isinstance(function.body, cst.IndentedBlock) or _only_writes(function):
            return
        lines = [line for line in function.body.body if not _is_docstring(line)]
        start = self.module.start(lines[0]) if lines else Place(1, 0)
        for name in [parameter.name.value for parameter in function.params.params] if lines else ():
            for copy, alias, needed in self._copies_of(name, fact, function):
                (made, shared) = (
                    (*needed, Edit(start, start, "".join(f"{row}\n{' ' * start.column}" for row in rows)))
                    for rows in (copy, (alias,))
                )
                if self._found(shared):
                    yield Fix(f"work on a copy: `{'; '.join(copy)}`", False, made)

    def _copies_of(
        self, name: str, fact: Fact, function: cst.FunctionDef
    ) -> Iterator[tuple[Sequence[str], str, Sequence[Edit]]]:
        """What copies a parameter, what makes no more than an alias of its tensors, and the import that both need.

        A container is only copied for a function that hands something back: it may be called for what it does to it.
        """
        kinds, fields = fact.kinds.get(name, set()) - {FROZEN}, sorted(fact.fields.get(name, ()))
        if kinds == {"tensor"}:
            yield [f"{name} = {name}{_COPY}"], f"{name} = {name}{_ALIAS}", ()
        if not fields or fact.ordered or not _returns(function):
            return
        if kinds == {"list"} and not _has_attribute(function, name):  # it may be a deque
            each = scope_around(self.module, function.body).unused("each")
            yield [f"{name} = [{each}{_COPY} for {each} in {name}]"], f"{name} = [*{name}]", ()
        elif kinds == {"dict"}:  # or an OrderedDict, or a defaultdict, which `copy` leaves what it is
            alias = f"{name} = {name}.copy()"
            entries = [f"{name}[{json.dumps(field, ensure_ascii=False)}]" for field in fields]
            yield [alias, *(f"{entry} = {entry}{_COPY}" for entry in entries)], alias, ()
        elif kinds in ({"object", RECORD}, {"object", NAMED_TUPLE}):
            copy, alias = (", ".join(f"{field}={name}.{field}{end}" for field in fields) for end in (_COPY, ""))
            made = "{0} = dataclasses.replace({0}, {1})" if RECORD in kinds else "{0} = {0}._replace({1})"
            needed = imported(self.module, "dataclasses") if RECORD in kinds else ()
            yield [made.format(name, copy)], made.format(name, alias), needed

    def remade(self) -> Iterator[Fix]:
        """The views of a base once more, on the line below the write to it."""
        statement = statement_around(self.module, self._written())
        if statement is None:
            return
        line = self.module.parents[statement]
        block = self.module.parents[line]
        if not isinstance(line, cst.SimpleStatementLine) or not isinstance(block, (cst.IndentedBlock, cst.Module)):
            return
        above = (other.body[0] for other in block.body[: block.body.index(line)] if _is_one_statement(other))
        lines = [assign for assign in above if self._makes_views(assign, line)]
        if lines:
            indent, end = " " * self.module.start(line).column, self.module.end(statement)
            text = "".join(f"\n{indent}{self.module.code(assign)}" for assign in lines)
            yield Fix("make the views again below the write", False, (Edit(end, end, text),))

    def viewed_again(self) -> Iterator[Fix]:
        """A view once more, with grad mode on, on the line above the write to it."""
        write = statement_around(self.module, self._written())
        for made in self.module.of(cst.Assign) if write is not None else ():
            found = any(self.module.spans(made, place) for place in self.related)
            if write is not None and found and self._gives_the_view(made, write):
                code, start = self.module.code(made), self.module.start(write)
                edit = Edit(start, start, line_above(self.module, write, code))
                yield Fix(f"make the view again with grad mode on: `{code}`", False, (edit,))

    def _gives_the_view(self, made: cst.Assign, write: cst.BaseSmallStatement) -> bool:
        """Whether an assignment binds a view to the name that is written, and would bind the same again just before."""
        target, base = made.targets[0].target, viewed_root(made.value)
        if not isinstance(target, cst.Name) or not isinstance(base, cst.Name) or base is made.value:
            return False
        inside, outside = (
            [node for node in self.module.above(part) if isinstance(node, (cst.For, cst.While, cst.FunctionDef))]
            for part in (made, write)
        )
        calls = [node for node in walk(made.value) if isinstance(node, cst.Call)]
        pure = all(last_name(call.func) == "len" or viewed_root(call) is not call for call in calls)
        return mentions(write, target.value) and inside == outside and pure and not self._changes(made, base, write)

    def _changes(self, made: cst.Assign, base: cst.Name, write: cst.BaseSmallStatement) -> bool:
        """Whether the base is bound, or a part of its index mentioned, between an assignment and the write."""
        scope = scope_around(self.module, write)
        names = {node.value for node in walk(made) if isinstance(node, cst.Name)} - {base.value}
        uses = [use for name in names for use in scope.names.get(name, ())]
        uses += [found for found, _ in scope.bindings(base.value)]
        return any(self.module.end(made) <= self.module.start(use) < self.module.start(write) for use in uses)

    def _makes_views(self, assign: cst.BaseSmallStatement, write: cst.SimpleStatementLine) -> bool:
        """``first, second = h.chunk(2)``, where the write mentions ``h``."""
        if not isinstance(assign, cst.Assign):
            return False
        value = assign.value
        parts = [part.value for part in value.elements] if isinstance(value, cst.Tuple) else [value]
        bases = [viewed_root(part) for part in parts]
        same = all(isinstance(base, cst.Name) and mentions(write, base.value) for base in bases)
        return same and not any(base is part for base, part in zip(bases, parts, strict=True))

    # Which places

    def _written(self) -> cst.CSTNode:
        return next((node for node in self.module.nodes if self._stands(node)), self.module.tree)

    def _stands(self, node: cst.CSTNode) -> bool:
        inside = node is not self.module.tree and node in self.module.ranges
        return inside and self.module.start(node) == self.finding.place

    def _is_named(self, call: cst.Call) -> bool:
        name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        return self.module.start(name) in self.related

    def _sources(self, reader: cst.Name | cst.Attribute) -> Iterator[cst.BaseExpression]:
        """What was bound to the reader, as far as that is an alias or a view of another tensor."""
        if isinstance(reader, cst.Attribute):
            for assign in self.module.of(cst.Assign):
                kept = [target.target for target in assign.targets if isinstance(target.target, cst.Attribute)]
                if any(last_name(target) == last_name(reader) for target in kept) and self._is_alias(assign.value):
                    yield assign.value
            return
        scope = scope_around(self.module, reader)
        if reader.value in keyed(self.module) or any(self._overwritten(use) for use in scope.uses(reader.value)):
            return
        yield from (v for _, v in scope.bindings(reader.value) if v is not None and self._is_alias(v))
        for use in scope.uses(reader.value):
            attribute = self.module.parents[use]
            call = self.module.parents[attribute]
            if isinstance(attribute, cst.Attribute) and isinstance(call, cst.Call) and last_name(call.func) in GATHER:
                yield from (argument.value for argument in call.args[-1:] if self._is_alias(argument.value))

    def _overwritten(self, use: cst.Name) -> bool:
        """Whether what a name stands for is written here, and others may be meant to see that."""
        statement = statement_around(self.module, use)
        if isinstance(statement, cst.AugAssign) and root_of(statement.target) is use:
            return True
        if isinstance(statement, cst.Assign) and any(
            target.target is not use and root_of(target.target) is use for target in statement.targets
        ):
            return True
        calls = [node for node in self.module.above(use) if isinstance(node, cst.Call)]
        return any(overwrites(call) and root_of(call.func) is use for call in calls)

    def _is_alias(self, node: cst.BaseExpression) -> bool:
        """``h``, ``self.h``, ``h[0]``, ``h.view(-1)``, ``h.detach()``: another name for memory that has one."""
        inner, _ = stripped(node)
        if self.of_calls and isinstance(node, cst.Call) and not overwrites(node):
            return True
        if isinstance(inner, cst.Call) and is_method(inner):
            found = ops.lookup(f"Tensor.{last_name(inner.func)}")
            views = bool(found) and all(out.kind != "fresh" for op in found for out in op.outs)
            return views and not last_name(inner.func).endswith("_") and is_path(root_of(inner))
        return is_path(inner) or (isinstance(inner, cst.Subscript) and is_path(root_of(inner)))

    def _names_a_tensor(self, node: cst.BaseExpression) -> bool:
        """Not ``torch.relu_`` or a function of the file: those are handed over to be called."""
        root = root_of(node)
        named = (is_path(node) or isinstance(node, cst.Subscript)) and not is_library(node)
        return named and (not isinstance(root, cst.Name) or scope_around(self.module, node).binds(root.value))

    # The edits

    def _copies(self, found: Iterator[cst.BaseExpression], title: str) -> Iterator[Fix]:
        """A copy at one place, or at all of them: the finding has to go, and to stay with an alias instead.

        What the analysis does not understand shares no memory. So an alias instead of the copy must change nothing.
        """
        parts = list(dict.fromkeys(found))[:_TRIED]
        for chosen in chain(([part] for part in parts), (self._needed(parts) for _ in parts[1:2])):
            tensor, array, any_of_both = (
                self._found(self._appended(chosen, alias)) for alias in (_TENSOR_ALIAS, _ARRAY_ALIAS, _ALIAS)
            )
            if tensor or array or any_of_both:
                lines = dict.fromkeys(str(self.module.start(part).line) for part in chosen)
                edits = self._appended(chosen, _COPY_ARRAY if array and not tensor else _COPY)
                yield Fix(f"{title}, on line {' and '.join(lines)}", False, edits)

    def _needed(self, parts: list[cst.BaseExpression]) -> list[cst.BaseExpression]:
        """The parts without those that need no copy for the finding to go."""
        for part in parts:
            rest = [other for other in parts if other is not part]
            if rest and not self._found(self._appended(rest, _COPY)):
                parts = rest
        return parts

    def _appended(self, parts: Sequence[cst.BaseExpression], suffix: str) -> tuple[Edit, ...]:
        ends = [self.module.end(part) for part in parts]
        return tuple(Edit(end, end, suffix) for end in ends)

    def _found(self, edits: Sequence[Edit]) -> bool:
        """Whether the finding is still there after some edits, for its caller or for who shares a copied container."""
        after, line = self.after(edits), moved(self.finding.place, edits).line
        kind = RULES[self.finding.code].kind
        alike = {kind, "read"} if kind == "argument" else {kind}
        return after is not None and any(
            RULES[other.code].kind in alike and other.place.line == line for other in after
        )


def _is_docstring(line: cst.BaseStatement) -> bool:
    first = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    return isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))


def _is_one_statement(node: cst.CSTNode) -> TypeGuard[cst.SimpleStatementLine]:
    return isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1


def _only_writes(function: cst.FunctionDef) -> bool:
    """Whether a function does nothing but write to one thing that it is given: on a copy, it would do nothing."""
    names = {parameter.name.value for parameter in function.params.params}
    written = set[str]()
    for part in walk(function.body):
        if isinstance(part, (cst.Assign, cst.AugAssign)) and not binds_variables(part):
            targets = [part.target] if isinstance(part, cst.AugAssign) else [each.target for each in part.targets]
            written |= {_root_name(target) for target in targets}
        elif isinstance(part, cst.Expr) and not isinstance(part.value, cst.BaseString):
            if not isinstance(part.value, cst.Call) or not overwrites(part.value):
                return False
            written.add(_root_name(part.value.func))
        elif isinstance(part, (cst.Return, cst.Yield, cst.Global, cst.Nonlocal, cst.Lambda, cst.FunctionDef)):
            return False
    return len(written) == 1 and written <= names


def binds_variables(statement: cst.Assign | cst.AugAssign) -> bool:
    """Whether a statement does no more than bind variables: ``a, b = ...``, not ``a.b = ...``."""
    return isinstance(statement, cst.Assign) and not any(
        isinstance(part, (cst.Attribute, cst.Subscript)) for each in statement.targets for part in walk(each.target)
    )


def _has_attribute(function: cst.FunctionDef, name: str) -> bool:
    """Whether a function asks a variable for an attribute, such as a method."""
    asked = (part.value for part in walk(function.body) if isinstance(part, cst.Attribute))
    return any(isinstance(value, cst.Name) and value.value == name for value in asked)


def _returns(function: cst.FunctionDef) -> bool:
    return any(isinstance(part, cst.Return) and part.value is not None for part in walk(function.body))


def _root_name(node: cst.BaseExpression) -> str:
    """The variable that an expression goes through in the end: ``x`` of ``x[0].sub_(y).div_``."""
    while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node.value if isinstance(node, cst.Name) else ""
