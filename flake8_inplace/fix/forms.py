"""One finding in its statement, and the ways to write it that are worth trying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import libcst as cst

from ..finding import Edit, Finding, Fix
from ..rules import RULES
from .constructors import constructors
from .facts import ELSEWHERE, Facts
from .kept import deep_copies
from .leaves import under_no_grad
from .readers import Readers
from .rows import rows
from .scope import scope_around
from .statements import (
    PROMOTING,
    chain,
    cloned,
    is_statement,
    line_above,
    out_of_place_links,
    rebinds,
    statement_around,
    steps,
    without,
    writers,
    writing_statements,
    written_value,
)
from .syntax import (
    Module,
    detours,
    is_method,
    keyword,
    last_name,
    layers_of,
    name_of,
    overwritten,
    root_of,
    stripped,
    viewed_root,
    walk,
)

#: What a write by ``.data`` or ``detach()`` means for the gradient, once it is mended.
_FLOWS, _PASSES_BY = "; the gradient then passes through it", "; the gradient still passes it by"


class Form:
    """One finding in its statement, and the ways to write it that are worth trying."""

    def __init__(self, module: Module, finding: Finding, facts: Facts, listed: str = "") -> None:
        self.module = module
        self.finding = finding
        self.facts = facts
        self.readers = Readers(module, finding, facts, listed)
        self.fact, self.form = self.readers.fact, self.readers.form

    def fixes(self) -> Iterator[Fix]:
        """Every form, the best first, none of a better grade than its rule allows."""
        allowed = RULES[self.finding.code].fix == "safe"
        yield from (replace(fix, safe=fix.safe and allowed) for fix in self.forms())

    def forms(self) -> Iterator[Fix]:
        if self.form in ("read", "snapshot"):
            yield from deep_copies(self.module)
        place = self.finding.place
        for statement in self.module.of(cst.AugAssign):
            if self.module.start(statement.operator) == place:
                yield from self.augmented(statement)
                return
        for part in self.module.of(cst.Subscript):
            if self.module.start(part.lbracket) == place:
                yield from self.subscript(part)
                return
        for call in self.module.of(cst.Call):
            if self.module.start(name_of(call)) == place:
                yield from self.call(call)
                return

    def alone(self) -> bool:
        """Whether nobody else holds what is written: then it does not matter who was meant to see the write."""
        targets = [target for _, target in writing_statements(self.module, self.finding.place)]
        return bool(targets) and all(self.readers.private(viewed_root(target)) for target in targets)

    def unseen(self) -> bool:
        """Whether the write is spelled past autograd, by ``detach()`` or ``.data``: out of place it has a gradient."""
        return any(detours(target) for _, target in writers(self.module, self.finding.place))

    def heard(self) -> bool:
        """Whether nobody who called for the write reads the tensor by another way: by a name, attribute or element."""
        return self.fact is None or not any(way == ELSEWHERE or way[0] in ".[" for way in self.fact.ways)

    def doubted(self) -> bool:
        """Whether a caller uses what a function returns, and reads on in the argument that it overwrites.

        Perhaps it is meant to see what was written, perhaps not: with either kind of copy it may get the wrong one.
        It is if the call is a statement, or if the function itself has no use for what it has written.
        """
        fact = self.fact
        if self.form != "callee" or fact is None or ELSEWHERE not in fact.ways or fact.ordered:
            return False
        kept = fact.form not in ("augmented", "subscript") and not fact.discarded
        return kept or fact.ways != {ELSEWHERE}

    # The three kinds of writes

    def augmented(self, statement: cst.AugAssign) -> Iterator[Fix]:
        target, value = statement.target, self.module.code(statement.value)
        operator = self.module.code(statement.operator).strip().removesuffix("=")
        if not isinstance(statement.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)):
            value = f"({value})" if not statement.value.lpar else value
        root, detour = stripped(target)
        path = self.module.code(root)
        if self.readers.initialises(target):
            yield from self.under_no_grad(root, statement)
        steps_down = detour and isinstance(statement.operator, cst.FloorDivideAssign)  # it has no derivative
        if not steps_down and self.readers.can_rebind(root, statement):
            safe = not detour and self.readers.private(root) and self.readers.keeps_type(statement.operator)
            new = f"{path} = {path} {operator} {value}"
            flows = _FLOWS if detour else ""
            yield Fix(f"write `{path} = {path} {operator} ...`{flows}", safe, (self.module.replaced(statement, new),))
        elif (
            isinstance(target, cst.Subscript)
            and self.readers.subscripted_list(target)
            and self.readers.heard_by(target)
        ):
            new = f"{path} = {path} {operator} {value}"
            yield Fix("put the new tensor into its place", False, (self.module.replaced(statement, new),))
        yield from self.clone_first(target, statement)
        yield from self.under_no_grad(root, statement)

    def subscript(self, part: cst.Subscript) -> Iterator[Fix]:
        statement = statement_around(self.module, part)
        if statement is None:
            return
        if isinstance(statement, cst.Assign):
            value = statement.value
            if isinstance(value, cst.Subscript) and root_of(value).deep_equals(root_of(part)):
                yield Fix("copy the source first", True, (self.module.replaced(value, cloned(self.module, value)),))
            for index in [element.slice for element in part.slice] if self.form == "overlap" else ():
                if isinstance(index, cst.Index) and index.value.deep_equals(part.value):
                    edit = self.module.replaced(index.value, cloned(self.module, index.value))
                    yield Fix("copy the index first", True, (edit,))
            yield from rows(self.module, part, statement, self.facts)
            if self.readers.initialises(part):
                yield from self.under_no_grad(root_of(part), statement)
        yield from self.clone_first(part, statement)
        yield from self.under_no_grad(root_of(part), statement)

    def call(self, call: cst.Call) -> Iterator[Fix]:
        statement = statement_around(self.module, call)
        if statement is None:
            yield from self.of_lambda(call)
            return
        flag = keyword(call, "inplace")
        out = keyword(call, "out")
        if flag is not None:
            yield from self.without_flag(call, flag, statement)
        if out is not None:
            yield from self.without_out(call, out, statement)
        if flag is None and out is None and last_name(call.func).endswith("_"):
            yield from self.method(call, statement)
        elif self.form == "discarded" and isinstance(call.func, cst.Attribute):
            yield from self.discarded(call, statement)
        if flag is None and out is None:
            yield from constructors(self.module, self.finding, self.facts)

    # Calls

    def method(self, call: cst.Call, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        links, base = chain(self.module, call)
        outer, edits = links[-1], out_of_place_links(self.module, links)
        root, detour = stripped(base)
        if not any(link.args for link in links) or self.readers.initialises(base):
            yield from self.under_no_grad(root_of(base), statement)
        reads = any(part.deep_equals(root) for link in links[1:] for argument in link.args for part in walk(argument))
        if edits and not (self.readers.cuts or reads or (detour and steps(links))):
            promotes = any(
                last_name(link.func)[:-1] in PROMOTING and not self.readers.keeps_type(name_of(link)) for link in links
            )
            if isinstance(root, (cst.Call, cst.BinaryOperation, cst.UnaryOperation)) and root is base:
                unnamed = self.readers.private(root)
                if unnamed or not is_statement(outer, statement):
                    yield Fix("use the out-of-place method", unnamed and not promotes, tuple(edits))
            else:
                if detour:
                    edits.append(self.module.replaced(base, self.module.code(root)))
                found = self.reassigned(root, outer, statement, edits, promotes or detour)
                yield from (replace(fix, title=fix.title + _FLOWS) for fix in found) if detour else found
        if self.form in ("overlap", "shift"):
            yield from self.cloned_argument(call)
        yield from self.clone_first(base, statement)
        yield from self.under_no_grad(root_of(base), statement)

    def of_lambda(self, call: cst.Call) -> Iterator[Fix]:
        """``lambda grad: grad.mul_(2)``, which returns what it has written."""
        links, base = chain(self.module, call) if overwritten(call) is not None else ([call], call)
        around, edits = self.module.parents[links[-1]], out_of_place_links(self.module, links)
        if isinstance(around, cst.Lambda) and around.body is links[-1] and edits and isinstance(base, cst.Name):
            own = any(param.name.value == base.value for param in around.params.params)
            reads = any(part.deep_equals(base) for link in links for each in link.args for part in walk(each))
            if own and self.readers.heard_by(base) and not (self.readers.cuts or reads):
                yield Fix("use the out-of-place method", False, tuple(edits))

    def reassigned(
        self,
        root: cst.BaseExpression,
        outer: cst.Call,
        statement: cst.BaseSmallStatement,
        edits: list[Edit],
        doubt: bool,
    ) -> Iterator[Fix]:
        """The out-of-place calls, with what they return bound to the name that was overwritten."""
        path = self.module.code(root)
        start = self.module.start(statement)
        title = f"use the out-of-place method and assign to `{path}`"
        whole = is_statement(outer, statement) or (isinstance(statement, cst.Assign) and statement.value is outer)
        if whole and rebinds(statement, root):
            if self.readers.heard_by(root):
                yield self.fix(title, root, edits, doubt)
        elif whole and (
            self.readers.can_rebind(root, statement)
            or (self.readers.subscripted_list(root) and self.readers.heard_by(root))
        ):
            yield self.fix(title, root, [Edit(start, start, f"{path} = "), *edits], doubt)
        elif is_statement(outer, statement) or not isinstance(root, cst.Name):
            return
        elif self.readers.heard_by(root) and not self.readers.read_again(root, outer, statement):
            yield self.fix("use the out-of-place method", root, edits, doubt)

    def without_flag(self, call: cst.Call, flag: cst.Arg, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        edits = [without(self.module, call, flag)]
        first = call.args[0].value if call.args and call.args[0] is not flag else None
        if first is None:
            yield from constructors(self.module, self.finding, self.facts)
        elif is_statement(call, statement):
            yield from self.reassigned(first, call, statement, edits, False)
        else:
            rebound = rebinds(statement, first)
            again = self.readers.read_beside if rebound else self.readers.read_again
            if not self.readers.heard_by(first) or (isinstance(first, cst.Name) and again(first, call, statement)):
                return  # somebody else reads the input, and was meant to read what was written into it
            safe = self.readers.private(first) and (rebound or not isinstance(first, cst.Name))
            yield Fix("drop `inplace=True`", safe, tuple(edits))

    def without_out(self, call: cst.Call, out: cst.Arg, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        root, _ = stripped(out.value)
        edits = [without(self.module, call, out)]
        path = self.module.code(root)
        start = self.module.start(statement)
        if is_statement(call, statement) or (isinstance(statement, cst.Assign) and statement.value is call):
            if self.readers.can_rebind(root, statement):
                edits.append(Edit(start, start, f"{path} = "))
                yield self.fix(f"let it return a new tensor, and assign that to `{path}`", root, edits, True)
        elif self.readers.heard_by(root) and not (
            isinstance(root, cst.Name) and self.readers.read_again(root, call, statement)
        ):
            yield Fix("drop `out=`", False, tuple(edits))

    def discarded(self, call: cst.Call, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        """``x.clamp(0, 1)`` as a statement, or ``torch.clamp(x, 0, 1)``."""
        assert isinstance(call.func, cst.Attribute)
        roots = [call.func.value, *(arg.value for arg in call.args[last_name(call.func) == "where" :])]
        roots = [root for root in roots if is_statement(call, statement) and self.readers.can_rebind(root, statement)]
        for root in roots[:1]:
            start, path = self.module.start(statement), self.module.code(root)
            yield Fix(f"assign the result to `{path}`", False, (Edit(start, start, f"{path} = "),))

    # What is done to a place of its own

    def clone_first(self, target: cst.BaseExpression, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        """A copy bound to the same name just above: the write then goes to memory that nobody has kept."""
        source = written_value(statement)
        if self.fact is None and self.form == "read":
            return  # autograd wrote, to what may lie in a list: ``clip_grad_norm_(parameters, 1)``
        given = statement.value if isinstance(statement, cst.Assign) else None
        if isinstance(given, cst.Tuple) and self.readers.is_array(root_of(target), target):
            yield from self.exchanged(given)
            return  # what is taken out is taken out of a copy, too, and so overwritten
        for root in layers_of(target):
            if isinstance(statement, (cst.Assign, cst.AugAssign)) and root is target:
                continue  # the assignment itself binds it
            if not (
                (self.readers.subscripted_list(root) and self.readers.heard_by(root))
                or self.readers.can_rebind(root, statement)
            ):
                continue
            path, start = self.module.code(root), self.module.start(statement)
            array = self.readers.is_array(root, target)
            copy = f"{path} = {path}.{'copy' if array else 'clone'}()"
            title = f"write to a copy: `{copy}`{_PASSES_BY if detours(target) else ''}"
            safe = self.readers.private(root) and not detours(target)
            yield Fix(title, safe, (Edit(start, start, line_above(self.module, statement, copy)),))
            if source is not None:
                # What is written reads, and so keeps, the very tensor: it has to be computed before the copy is made.
                value = scope_around(self.module, statement).unused("value")
                first = line_above(self.module, statement, f"{value} = {self.module.code(source)}")
                edit = Edit(start, start, first + line_above(self.module, statement, copy))
                yield Fix(title, safe, (edit, self.module.replaced(source, value)))

    def exchanged(self, source: cst.Tuple) -> Iterator[Fix]:
        """``x[i], x[j] = x[j], x[i]`` of an array: each part is copied when it is taken out."""
        parts = [part.value for part in source.elements if isinstance(part.value, cst.Subscript)]
        if parts and len(parts) == len(source.elements):
            edits = [self.module.replaced(part, f"{self.module.code(part)}.copy()") for part in parts]
            yield Fix("copy what is taken out", False, tuple(edits))

    def cloned_argument(self, call: cst.Call) -> Iterator[Fix]:
        """``x[1:].copy_(x[:-1])``."""
        for argument in call.args[:1] if is_method(call) else ():
            if isinstance(argument.value, cst.Subscript) and root_of(argument.value).deep_equals(root_of(call.func)):
                new = cloned(self.module, argument.value)
                yield Fix("copy the source first", True, (self.module.replaced(argument.value, new),))

    def under_no_grad(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        return under_no_grad(self.module, self.form, self.fact, root, statement)

    def fix(self, title: str, root: cst.BaseExpression, edits: Sequence[Edit], doubt: bool) -> Fix:
        return Fix(title, not doubt and self.readers.private(root), tuple(edits))
