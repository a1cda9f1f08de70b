"""One finding in its statement, and the ways to write it that are worth trying."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import libcst as cst

from ..finding import Edit, Finding, Fix, Place
from ..hazards.refused import LEAF_KINDS
from ..rules import RULES
from ..torchfacts import ops
from .scope import Scope
from .syntax import (
    Module,
    detours,
    dotted,
    functions_called,
    is_import,
    is_method,
    is_path,
    keyword,
    last_name,
    layers_of,
    overwritten,
    range_from_one,
    root_of,
    source_of,
    stripped,
    viewed_root,
)

_CONSTRUCTORS_TRIED = 8
"""How many constructors with ``inplace=True`` are tried, one after the other, for a module that overwrites."""

#: In-place arithmetic keeps the type of the tensor; out of place, a wider operand widens the result.
_PROMOTING = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide pow addcmul addcdiv remainder fmod atan2 "
    "hypot lerp addmm addmv addr baddbmm maximum minimum".split()
)


class Form:
    """One finding in its statement, and the ways to write it that are worth trying."""

    def __init__(self, module: Module, finding: Finding) -> None:
        self.module = module
        self.finding = finding
        self.form = RULES[finding.code].kind

    def fixes(self) -> Iterator[Fix]:
        """Every form, the best first, none of a better grade than its rule allows."""
        allowed = RULES[self.finding.code].fix == "safe"
        for fix in self.forms():
            yield replace(fix, safe=fix.safe and allowed)

    def forms(self) -> Iterator[Fix]:
        if self.form == "snapshot":
            yield from self.snapshots()
            return
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
            name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
            if self.module.start(name) == place:
                yield from self.call(call)
                return

    def alone(self) -> bool:
        """Whether nobody else holds what is written: then it does not matter who was meant to see the write."""
        module, place = self.module, self.finding.place
        nodes = [node for node in module.of(cst.AugAssign) if module.start(node.operator) == place]
        written: list[tuple[cst.CSTNode, cst.BaseExpression | None]] = [(node, node.target) for node in nodes]
        written += [(node, node) for node in module.of(cst.Subscript) if module.start(node.lbracket) == place]
        for call in module.of(cst.Call):
            name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
            if module.start(name) == place:
                written.append((call, overwritten(call)))
        for node, target in written:
            statement = node if isinstance(node, cst.AugAssign) else self.statement(node)
            if statement is None or target is None or not self.private(viewed_root(target), statement):
                return False
        return bool(written)

    # The three kinds of writes

    def augmented(self, statement: cst.AugAssign) -> Iterator[Fix]:
        target, value = statement.target, self.module.code(statement.value)
        operator = self.module.code(statement.operator).strip().removesuffix("=")
        if not isinstance(statement.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)):
            value = f"({value})" if not statement.value.lpar else value
        root, detour = stripped(target)
        path = self.module.code(root)
        if self.can_rebind(root, statement):
            safe = not detour and self.private(root, statement) and self.keeps_type(statement.value, root, statement)
            new = f"{path} = {path} {operator} {value}"
            yield Fix(f"write `{path} = {path} {operator} ...`", safe, (self.module.replaced(statement, new),))
        elif isinstance(target, cst.Subscript) and self.subscripted_list(target):
            new = f"{path} = {path} {operator} {value}"
            yield Fix("put the new tensor into its place", False, (self.module.replaced(statement, new),))
        yield from self.clone_first(target, statement)
        yield from self.under_no_grad(root, statement)

    def subscript(self, part: cst.Subscript) -> Iterator[Fix]:
        statement = self.statement(part)
        if statement is None:
            return
        if isinstance(statement, cst.Assign):
            value = statement.value
            if isinstance(value, cst.Subscript) and root_of(value).deep_equals(root_of(part)):
                yield Fix("copy the source first", True, (self.module.replaced(value, self.cloned(value)),))
            yield from self.rows(part, statement)
        yield from self.clone_first(part, statement)
        yield from self.under_no_grad(root_of(part), statement)

    def call(self, call: cst.Call) -> Iterator[Fix]:
        statement = self.statement(call)
        if statement is None:
            return
        flag = keyword(call, "inplace")
        out = keyword(call, "out")
        if flag is not None:
            yield from self.without_flag(call, flag, statement)
        if out is not None:
            yield from self.without_out(call, out, statement)
        if flag is None and out is None and last_name(call.func).endswith("_"):
            yield from self.method(call, statement)
        elif flag is None and out is None and isinstance(call.func, cst.Attribute):
            yield from self.discarded(call, statement)
        if flag is None and out is None:
            yield from self.constructors()

    def rows(self, part: cst.Subscript, statement: cst.Assign) -> Iterator[Fix]:
        """A table filled row by row, as a list that is stacked behind the loop: a copy in each round costs more.

        Only where the shape is plain: ``t = zeros(n, ...)``, ``t[0] = first``, ``for i in range(1, n): t[i] = ...``
        in one function, with the rows before read as ``t[i - 1]``, and nothing else done to the table until the end.
        """
        module, loop, table = self.module, self.module.around(statement, cst.For), part.value
        if loop is None or not isinstance(table, cst.Name) or not isinstance(loop.target, cst.Name):
            return
        name, row, count = table.value, loop.target.value, range_from_one(loop.iter)
        block = module.parents[loop]
        if (
            count is None
            or module.parents[module.parents[statement]] is not loop.body
            or module.code(part) != f"{name}[{row}]"
        ):
            return
        if not isinstance(block, cst.IndentedBlock) or block.body[-1] is loop:
            return
        before = block.body[: block.body.index(loop)]
        built, first = self.assigned(before, name), self.assigned(before, f"{name}[0]")
        if (
            built is None
            or first is None
            or not self.sized(built.value, module.code(count))
            or self.scope(loop).is_number(first.value)
        ):
            return
        ours = (built.targets[0], first.targets[0].target, part)
        others = [use for use in self.scope(statement).names[name] if module.parents[use] not in ours]
        reads = [use for use in others if module.start(use) < module.end(loop)]
        if any(module.code(module.parents[use]) != f"{name}[{row} - 1]" or self.written(use) for use in reads):
            return  # read as a whole or in another row while it is filled, or written twice
        rows, after = self.unused("rows", statement), module.start(block.body[len(before) + 1])
        edits = [
            Edit(Place(module.start(built).line, 0), Place(module.end(built).line + 1, 0), ""),
            module.replaced(first, f"{rows} = [{module.code(first.value)}]"),
            Edit(module.start(statement), module.start(statement.value), f"{rows}.append("),
            *(module.replaced(use, rows) for use in reads),
            Edit(module.end(statement), module.end(statement), ")"),
            Edit(after, after, f"{name} = torch.stack({rows})\n{' ' * after.column}"),
        ]
        yield Fix(f"collect the rows in a list and stack them: `{rows}`", False, tuple(edits))

    def written(self, use: cst.Name) -> bool:
        """Whether ``use`` in ``use[i]`` is what a statement assigns to."""
        return isinstance(self.module.parents[self.module.parents[use]], (cst.AssignTarget, cst.AugAssign))

    def assigned(self, lines: Sequence[cst.CSTNode], target: str) -> cst.Assign | None:
        """The only statement among some lines that assigns to a target."""
        found = [
            small
            for line in lines
            if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
            for small in line.body
            if isinstance(small, cst.Assign) and len(small.targets) == 1
            if self.module.code(small.targets[0].target) == target
        ]
        return found[0] if len(found) == 1 else None

    def sized(self, value: cst.BaseExpression, count: str) -> bool:
        """Whether an expression makes a table of ``count`` rows."""
        if not isinstance(value, cst.Call) or not value.args or not dotted(value.func).startswith("torch."):
            return False
        first = self.module.code(value.args[0].value)
        if last_name(value.func) in ("zeros_like", "empty_like", "ones_like"):
            return count in (f"len({first})", f"{first}.shape[0]", f"{first}.size(0)")
        return last_name(value.func) in ("zeros", "empty", "ones") and first == count

    # Calls

    def method(self, call: cst.Call, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        links, base = self.chain(call)
        outer = links[-1]
        edits = [edit for link in links if (edit := self.out_of_place(link)) is not None]
        root, detour = stripped(base)
        if len(edits) == len([link for link in links if last_name(link.func).endswith("_")]):
            promotes = any(
                last_name(link.func)[:-1] in _PROMOTING
                and not all(self.keeps_type(argument.value, root, statement) for argument in link.args)
                for link in links
            )
            if isinstance(root, (cst.Call, cst.BinaryOperation, cst.UnaryOperation)) and root is base:
                if self.module.fresh(root) or not self.is_statement(outer, statement):
                    yield Fix("use the out-of-place method", self.module.fresh(root) and not promotes, tuple(edits))
            else:
                if detour:
                    edits.append(self.module.replaced(base, self.module.code(root)))
                yield from self.reassigned(root, outer, statement, edits, promotes or detour)
        yield from self.clone_first(base, statement)
        yield from self.cloned_argument(call)
        yield from self.under_no_grad(root_of(base), statement)

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
        binding = Edit(start, start, f"{path} = ")
        title = f"use the out-of-place method and assign to `{path}`"
        whole = self.is_statement(outer, statement) or (isinstance(statement, cst.Assign) and statement.value is outer)
        if whole and self.rebinds(statement, root):
            yield self.fix(title, root, statement, edits, doubt)
        elif whole:
            if self.can_rebind(root, statement) or self.subscripted_list(root):
                yield self.fix(title, root, statement, [binding, *edits], doubt)
        elif isinstance(root, cst.Name) and not self.read_again(root, outer, statement):
            yield self.fix("use the out-of-place method", root, statement, edits, doubt)

    def without_flag(self, call: cst.Call, flag: cst.Arg, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        edits = [self.without(call, flag)]
        first = call.args[0].value if call.args and call.args[0] is not flag else None
        if first is None:
            yield from self.constructors()
        elif self.is_statement(call, statement):
            yield from self.reassigned(first, call, statement, edits, False)
        else:
            temporary = self.module.fresh(first)
            rebound = self.rebinds(statement, first)
            again = self.read_beside if rebound else self.read_again
            if isinstance(first, cst.Name) and again(first, call, statement):
                return  # somebody else reads the input, and was meant to read what was written into it
            safe = temporary or (rebound and self.private(first, statement))
            yield Fix("drop `inplace=True`", safe, tuple(edits))

    def without_out(self, call: cst.Call, out: cst.Arg, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        root, _ = stripped(out.value)
        edits = [self.without(call, out)]
        path = self.module.code(root)
        start = self.module.start(statement)
        if self.is_statement(call, statement) or (isinstance(statement, cst.Assign) and statement.value is call):
            if self.can_rebind(root, statement):
                edits.append(Edit(start, start, f"{path} = "))
                yield self.fix(f"let it return a new tensor, and assign that to `{path}`", root, statement, edits, True)
        elif not (isinstance(root, cst.Name) and self.read_again(root, call, statement)):
            yield Fix("drop `out=`", False, tuple(edits))

    def discarded(self, call: cst.Call, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        """``x.clamp(0, 1)`` as a statement."""
        assert isinstance(call.func, cst.Attribute)
        root = call.func.value
        if self.is_statement(call, statement) and self.can_rebind(root, statement):
            start, path = self.module.start(statement), self.module.code(root)
            yield Fix(f"assign the result to `{path}`", False, (Edit(start, start, f"{path} = "),))

    def snapshots(self) -> Iterator[Fix]:
        """``model.state_dict()`` that is kept, wherever that is: the finding stands at the step that overwrites it."""
        imports = self.imported("copy")
        for call in self.module.of(cst.Call):
            if last_name(call.func) == "state_dict":
                edit = self.module.replaced(call, f"copy.deepcopy({self.module.code(call)})")
                yield Fix(f"keep a deep copy on line {edit.start.line}", True, (*imports, edit))

    def imported(self, name: str) -> list[Edit]:
        """The import of a module of the standard library, beside the first import, if there is none yet."""
        if self.imports(name):
            return []
        lines = [line for line in self.module.of(cst.SimpleStatementLine) if is_import(line.body[0])]
        future = isinstance(lines[0].body[0], cst.ImportFrom) and source_of(lines[0].body[0]) == "__future__"
        place = self.module.end(lines[0]) if future else self.module.start(lines[0])
        return [Edit(place, place, f"\nimport {name}" if future else f"import {name}\n")]

    def constructors(self) -> Iterator[Fix]:
        """``inplace=True`` dropped where a module that overwrites is built: one constructor, or all."""
        edits = [
            self.without(call, flag)
            for call in self.module.of(cst.Call)
            if (flag := keyword(call, "inplace")) is not None
            and last_name(call.func)[:1].isupper()
            and self.module.code(flag.value) == "True"
        ]
        if len(edits) > _CONSTRUCTORS_TRIED:
            edits = []
        choices = [(edit,) for edit in edits] + ([tuple(edits)] if len(edits) > 1 else [])
        for choice in choices:
            where = f"on line {choice[0].start.line}" if len(choice) == 1 else "wherever this file says so"
            yield Fix(f"drop `inplace=True` {where}", False, choice)

    # What is done to a place of its own

    def clone_first(self, target: cst.BaseExpression, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        """A copy bound to the same name just above: the write then goes to memory that nobody has kept."""
        source = self.source(statement)
        for root in layers_of(target):
            if isinstance(statement, (cst.Assign, cst.AugAssign)) and root is target:
                continue  # the assignment itself binds it
            if not (self.subscripted_list(root) or self.can_rebind(root, statement)):
                continue
            if self.form == "dataset" and not isinstance(root, cst.Name):
                continue  # the container belongs to the dataset as well
            path, start = self.module.code(root), self.module.start(statement)
            array = self.form == "numpy" or self.scope(statement).numpy()
            copy = f"{path} = {path}.{'copy' if array else 'clone'}()"
            title = f"write to a copy: `{copy}`"
            safe = self.private(root, statement) and not detours(target)
            yield Fix(title, safe, (Edit(start, start, self.line_above(statement, copy)),))
            if source is not None:
                # What is written reads, and so keeps, the very tensor: it has to be computed before the copy is made.
                value = self.unused("value", statement)
                first = self.line_above(statement, f"{value} = {self.module.code(source)}")
                edit = Edit(start, start, first + self.line_above(statement, copy))
                yield Fix(title, safe, (edit, self.module.replaced(source, value)))

    def source(self, statement: cst.BaseSmallStatement) -> cst.BaseExpression | None:
        """The expression whose value a statement writes, where it can be computed beforehand."""
        if isinstance(statement, (cst.Assign, cst.AugAssign)):
            return statement.value
        call = statement.value if isinstance(statement, cst.Expr) else None
        return call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None

    def line_above(self, statement: cst.BaseSmallStatement, code: str) -> str:
        """What to put before a statement so that other code stands above it, or before it on its line."""
        line, start = self.module.parents[statement], self.module.start(statement)
        indent = self.module.tree.code.split("\n")[start.line - 1][: start.column]
        alone = isinstance(line, cst.SimpleStatementLine) and line.body[0] is statement and not indent.strip()
        return f"{code}\n{indent}" if alone else f"{code}; "

    def unused(self, name: str, statement: cst.CSTNode) -> str:
        """A name that the function does not use yet."""
        used = self.scope(statement).names
        return next(word for word in (name, *(f"{name}_{i}" for i in range(1, len(used) + 2))) if word not in used)

    def cloned_argument(self, call: cst.Call) -> Iterator[Fix]:
        """``x[1:].copy_(x[:-1])``."""
        for argument in call.args[:1]:
            if isinstance(argument.value, cst.Subscript):
                new = self.cloned(argument.value)
                yield Fix("copy the source first", True, (self.module.replaced(argument.value, new),))

    def under_no_grad(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        """A parameter that is meant to change. Tried last: gradients do not flow through it."""
        if self.form not in LEAF_KINDS:
            return
        line = self.module.parents[statement]
        start, end = self.module.start(statement), self.module.end(statement)
        if not (isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1) or not self.imports("torch"):
            return
        if isinstance(root, cst.Name) and not self.scope(statement).holds_parameter(root.value):
            return  # any other tensor is a value, and a value wants its gradient
        lines = self.module.tree.code.split("\n")[start.line - 1 : end.line]
        indent = lines[0][: start.column]
        if any('"""' in row or "'''" in row or row.endswith("\\") for row in lines):
            return
        deeper = indent + (self.module.tree.default_indent if "\t" not in indent else "\t")
        edits = [Edit(start, start, f"with torch.no_grad():\n{deeper}")]
        edits += [
            Edit(Place(number, 0), Place(number, 0), deeper[len(indent) :])
            for number in range(start.line + 1, end.line + 1)
            if lines[number - start.line].strip()
        ]
        yield Fix("write under `torch.no_grad()`", False, tuple(edits))

    def cloned(self, node: cst.BaseExpression) -> str:
        return f"{self.module.code(node)}.clone()"

    def fix(
        self,
        title: str,
        root: cst.BaseExpression,
        statement: cst.BaseSmallStatement,
        edits: Sequence[Edit],
        doubt: bool,
    ) -> Fix:
        safe = not doubt and self.private(root, statement)
        return Fix(title, safe, tuple(edits))

    # Parts of the statement

    def statement(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """The simple statement that a node stands in, if no function or comprehension comes between."""
        for parent in self.module.above(node):
            if isinstance(parent, cst.BaseSmallStatement):
                return parent
            if isinstance(parent, (cst.Lambda, cst.BaseComp, cst.BaseCompoundStatement)):
                return None
        return None

    def is_statement(self, node: cst.CSTNode, statement: cst.BaseSmallStatement) -> bool:
        return isinstance(statement, cst.Expr) and statement.value is node

    def rebinds(self, statement: cst.BaseSmallStatement, root: cst.BaseExpression) -> bool:
        """``x = ...``, where ``x`` is what is overwritten."""
        return isinstance(statement, cst.Assign) and any(t.target.deep_equals(root) for t in statement.targets)

    def chain(self, call: cst.Call) -> tuple[list[cst.Call], cst.BaseExpression]:
        """All links of ``x.mul_(2).add_(1)``, the first one first, and ``x``."""
        links = [call]
        while (parent := self.link_above(links[-1])) is not None:
            links.append(parent)
        while (below := overwritten(links[0])) is not None and isinstance(below, cst.Call):
            if not (last_name(below.func).endswith("_") and overwritten(below) is not None):
                break
            links.insert(0, below)
        base = overwritten(links[0])
        assert base is not None
        return links, base

    def link_above(self, call: cst.Call) -> cst.Call | None:
        attribute = self.module.parents[call]
        if not isinstance(attribute, cst.Attribute) or not attribute.attr.value.endswith("_"):
            return None
        parent = self.module.parents[attribute]
        return parent if isinstance(parent, cst.Call) and parent.func is attribute else None

    def out_of_place(self, link: cst.Call) -> Edit | None:
        """The link without its underscore, where PyTorch has that method."""
        name = link.func.attr if isinstance(link.func, cst.Attribute) else link.func
        bare = last_name(link.func).removesuffix("_")
        if not isinstance(link.func, cst.Attribute):
            return None
        known = (
            bare in ops.tensor_methods()
            if is_method(link)
            else bool(functions_called(dotted(link.func).removesuffix("_")))
        )
        return self.module.replaced(name, bare) if known and last_name(link.func).endswith("_") else None

    def without(self, call: cst.Call, argument: cst.Arg) -> Edit:
        """One argument taken away, with the comma before it or behind it."""
        index = list(call.args).index(argument)
        if index > 0:
            return Edit(self.module.end(call.args[index - 1].value), self.module.end(argument.value), "")
        if len(call.args) > 1:
            return Edit(self.module.start(argument), self.module.start(call.args[1]), "")
        return self.module.replaced(argument, "")

    def imports(self, name: str) -> bool:
        return any(
            alias.evaluated_name == name and not alias.asname
            for node in self.module.of(cst.Import)
            for alias in node.names
        )

    # Who may be given a new tensor

    def scope(self, statement: cst.CSTNode) -> Scope:
        function = self.module.around(statement, cst.FunctionDef)
        return Scope(self.module, function or self.module.tree)

    def can_rebind(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
        """Whether binding the name to a new tensor does for the rest of the program what the write did."""
        if isinstance(root, cst.Attribute):
            return is_path(root) and not self.is_parameter(root.attr.value)
        if not isinstance(root, cst.Name):
            return False
        scope = self.scope(statement)
        if not scope.binds(root.value) or scope.iterates(root.value) or scope.fills(root.value):
            return False
        if scope.several(root.value):
            return False
        if self.form in LEAF_KINDS and scope.holds_parameter(root.value):
            return False
        seen = self.read_after(root, statement) or scope.computed(root.value)  # or else the write was for the caller
        return seen and not scope.part_of_another(root.value, statement)

    def is_parameter(self, name: str) -> bool:
        """Whether an attribute of that name is an ``nn.Parameter``, which refuses to be replaced by a tensor."""
        if name in ("weight", "bias"):
            return True
        pattern = rf"\.{name}\s*(?::[^=\n]+)?=\s*(?:\w+\.)*Parameter\(|register_parameter\(\s*[\"']{name}[\"']"
        return re.search(pattern, self.module.tree.code) is not None

    def subscripted_list(self, root: cst.BaseExpression) -> bool:
        """``rows[i]`` or ``cache["h"]``: if the container is a tensor after all, the second analysis says so."""
        if not isinstance(root, cst.Subscript) or not is_path(root.value):
            return False
        return not (isinstance(root.value, cst.Name) and self.scope(root).several(root.value.value))

    def read_after(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
        return not isinstance(root, cst.Name) or self.scope(statement).read_after(root.value, statement)

    def read_beside(self, root: cst.Name, call: cst.Call, statement: cst.BaseSmallStatement) -> bool:
        """Whether a name is read in the same statement, outside of the call that overwrites it."""
        module, start = self.module, self.module.start
        return any(
            start(statement) <= start(use) < module.end(statement) and not start(call) <= start(use) < module.end(call)
            for use in self.scope(statement).uses(root.value)
        )

    def read_again(self, root: cst.Name, call: cst.Call, statement: cst.BaseSmallStatement) -> bool:
        return self.read_after(root, statement) or self.read_beside(root, call, statement)

    def keeps_type(
        self, operand: cst.BaseExpression, root: cst.BaseExpression, statement: cst.BaseSmallStatement
    ) -> bool:
        return self.scope(statement).keeps_type(operand, root.value if isinstance(root, cst.Name) else "")

    def private(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
        return isinstance(root, cst.Name) and self.scope(statement).private(root.value, statement)
