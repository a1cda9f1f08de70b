"""What to write instead: a finding becomes edits of the text, graded safe or unsafe.

The forms to try stand in ``_Form``, best first. None is offered on trust: the text with the edits is analysed again,
and a form that leaves its finding, or brings a new one, is passed over. What the analysis cannot see is whether
somebody else was meant to see the overwriting; that decides the grade, and ``_Scope`` decides it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from .analysis import analyze
from .finding import Edit, Finding, Fix, Place
from .rules import LEAF_FORMS, RULES
from .torchfacts import modules, ops

NodeT = TypeVar("NodeT", bound=cst.CSTNode)

_LINE_END = re.compile(r"\r\n|\n|\r")
_CONSTRUCTORS_TRIED = 8
"""How many constructors with ``inplace=True`` are tried, one after the other, for a module that overwrites."""

#: In-place arithmetic keeps the type of the tensor; out of place, a wider operand widens the result.
_PROMOTING = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide pow addcmul addcdiv remainder fmod atan2 "
    "hypot lerp addmm addmv addr baddbmm maximum minimum".split()
)

_VIEW_ATTRIBUTES = frozenset({"data", "T", "mT", "H", "mH", "real", "imag"})


# Texts and edits


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made. Each line keeps its own end; new lines end like the one they are put into."""
    starts, ends = [0], []
    for match in _LINE_END.finditer(text):
        starts.append(match.end())
        ends.append(match[0])
    common = ends[0] if ends else "\n"

    def offset(place: Place) -> int:
        return starts[place.line - 1] + place.column

    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        newline = ends[edit.start.line - 1] if edit.start.line <= len(ends) else common
        text = text[: offset(edit.start)] + edit.text.replace("\n", newline) + text[offset(edit.end) :]
    return text


def moved(place: Place, edits: Sequence[Edit]) -> Place:
    """Where a place that no edit touches stands afterwards."""
    line, column = place.line, place.column
    for edit in edits:
        if edit.end <= place:
            added = edit.text.split("\n")
            line += len(added) - 1 - (edit.end.line - edit.start.line)
            if edit.end.line == place.line:
                kept = edit.start.column if len(added) == 1 else 0
                column += kept + len(added[-1]) - edit.end.column
    return Place(line, column)


@dataclass(frozen=True, slots=True)
class Mended:
    """A text after its fixes, with each finding that was removed and how, and those that are left."""

    text: str
    done: tuple[tuple[Finding, Fix], ...]
    left: tuple[Finding, ...]


def mend(text: str, wanted: Callable[[str, Sequence[Finding]], Sequence[bool]], unsafe: bool) -> Mended:
    """Fix one finding after the other until none is left that can be fixed.

    ``wanted`` says which findings in a text count: what is silenced is not touched.
    """
    done: list[tuple[Finding, Fix]] = []
    refused: set[Place] = set()
    while True:
        repair = Repair(text)
        counted = [finding for finding, yes in zip(repair.found, wanted(text, repair.found), strict=True) if yes]
        for finding in counted:
            if finding.place in refused:
                continue
            fix = repair.propose(finding, unsafe)
            if fix is not None:
                break
            refused.add(finding.place)
        else:
            return Mended(text, tuple(done), tuple(counted))
        text = apply(text, fix.edits)
        refused = {moved(place, fix.edits) for place in refused}
        done.append((finding, fix))


# Proposals


class Repair:
    """What can be done about the findings of one text."""

    def __init__(self, text: str) -> None:
        self.text = _LINE_END.sub("\n", text)
        result = analyze(self.text)
        self.found = result.findings
        self._problem = result.problem
        self._module: _Module | None = None

    def propose(self, finding: Finding, unsafe: bool = True) -> Fix | None:
        """The best fix that holds when the result is analysed again, or None."""
        if finding not in self.found or RULES[finding.code].fix == "never":
            return None
        if self._module is None:
            self._module = _Module(self.text)
        for fix in _Form(self._module, finding).fixes():
            if (fix.safe or unsafe) and self._holds(finding, fix):
                return fix
        return None

    def _holds(self, finding: Finding, fix: Fix) -> bool:
        """Whether the fix removes its finding, brings none, and leaves a program that can be read."""
        others = {moved(other.place, fix.edits) for other in self.found if other != finding}
        try:
            after = analyze(apply(self.text, fix.edits))
        except SyntaxError:
            return False
        return after.problem == self._problem and {left.place for left in after.findings} <= others


class _Module:
    """A parsed text: positions, parents, and the node that a finding points at."""

    def __init__(self, text: str) -> None:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self.tree = wrapper.module
        self.ranges = wrapper.resolve(PositionProvider)
        self.parents = wrapper.resolve(ParentNodeProvider)
        self.nodes = list(_walk(self.tree))

    def start(self, node: cst.CSTNode) -> Place:
        position = self._range(node).start
        return Place(position.line, position.column)

    def end(self, node: cst.CSTNode) -> Place:
        position = self._range(node).end
        return Place(position.line, position.column)

    def _range(self, node: cst.CSTNode) -> CodeRange:
        found = self.ranges[node]
        assert isinstance(found, CodeRange)
        return found

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, from the inside."""
        while node is not self.tree:
            node = self.parents[node]
            yield node

    def around(self, node: cst.CSTNode, kind: type[NodeT]) -> NodeT | None:
        return next((parent for parent in self.above(node) if isinstance(parent, kind)), None)

    def fresh(self, node: cst.BaseExpression) -> bool:
        """Whether an expression surely makes a new tensor."""
        if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation)):
            return True
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or _argument(node, "inplace"):
            return False
        name = node.func.attr.value
        if not _is_method(node):
            return _is_fresh(_functions(name))
        return _is_fresh(ops.lookup(f"Tensor.{name}")) or self._layer_is_fresh(name)

    def _layer_is_fresh(self, name: str) -> bool:
        """Whether every ``self.name = nn.Layer(...)`` of the file is of a layer that returns a new tensor."""
        built = [
            assign.value
            for assign in self.of(cst.Assign)
            for target in assign.targets
            if isinstance(target.target, cst.Attribute) and target.target.attr.value == name
        ]
        for value in built:
            fact = modules.lookup(f"torch.nn.{_name(value.func)}") if isinstance(value, cst.Call) else None
            if fact is None or not _is_fresh([fact.op]) or _argument(cst.ensure_type(value, cst.Call), "inplace"):
                return False
        return bool(built)

    def replaced(self, node: cst.CSTNode, text: str) -> Edit:
        return Edit(self.start(node), self.end(node), text)

    def of(self, kind: type[NodeT]) -> list[NodeT]:
        return [node for node in self.nodes if isinstance(node, kind)]


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _walk(child)


class _Form:
    """One finding in its statement, and the ways to write it that are worth trying."""

    def __init__(self, module: _Module, finding: Finding) -> None:
        self.module = module
        self.finding = finding
        self.form = RULES[finding.code].form

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

    # The three kinds of writes

    def augmented(self, statement: cst.AugAssign) -> Iterator[Fix]:
        target, value = statement.target, self.module.code(statement.value)
        operator = self.module.code(statement.operator).strip().removesuffix("=")
        if not isinstance(statement.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)):
            value = f"({value})" if not statement.value.lpar else value
        root, detour = _stripped(target)
        path = self.module.code(root)
        if self.can_rebind(root, statement):
            safe = self.private(root, statement) and _is_number(statement.value) and not detour
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
            if isinstance(value, cst.Subscript) and _root(value).deep_equals(_root(part)):
                yield Fix("copy the source first", True, (self.module.replaced(value, self.cloned(value)),))
            yield from self.rows(part, statement)
        yield from self.clone_first(part, statement)
        yield from self.under_no_grad(_root(part), statement)

    def call(self, call: cst.Call) -> Iterator[Fix]:
        statement = self.statement(call)
        if statement is None:
            return
        flag = _argument(call, "inplace")
        out = _argument(call, "out")
        if flag is not None:
            yield from self.without_flag(call, flag, statement)
        if out is not None:
            yield from self.without_out(call, out, statement)
        if flag is None and out is None and _name(call.func).endswith("_"):
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
        name, row, count = table.value, loop.target.value, _range_from_one(loop.iter)
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
        if built is None or first is None or not self.sized(built.value, module.code(count)) or _is_number(first.value):
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
        if not isinstance(value, cst.Call) or not value.args or _first_name(value.func) != "torch":
            return False
        first = self.module.code(value.args[0].value)
        if _name(value.func) in ("zeros_like", "empty_like", "ones_like"):
            return count in (f"len({first})", f"{first}.shape[0]", f"{first}.size(0)")
        return _name(value.func) in ("zeros", "empty", "ones") and first == count

    # Calls

    def method(self, call: cst.Call, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        links, base = self.chain(call)
        outer = links[-1]
        edits = [edit for link in links if (edit := self.out_of_place(link)) is not None]
        root, detour = _stripped(base)
        if len(edits) == len([link for link in links if _name(link.func).endswith("_")]):
            promotes = any(_name(link.func)[:-1] in _PROMOTING and not _numbers(link) for link in links)
            if isinstance(root, (cst.Call, cst.BinaryOperation, cst.UnaryOperation)) and root is base:
                if self.module.fresh(root) or not self.is_statement(outer, statement):
                    yield Fix("use the out-of-place method", self.module.fresh(root) and not promotes, tuple(edits))
            else:
                if detour:
                    edits.append(self.module.replaced(base, self.module.code(root)))
                yield from self.reassigned(root, outer, statement, edits, promotes or detour)
        yield from self.clone_first(base, statement)
        yield from self.cloned_argument(call)
        yield from self.under_no_grad(_root(base), statement)

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
        if isinstance(statement, cst.Assign) and any(t.target.deep_equals(root) for t in statement.targets):
            if statement.value is outer:
                yield self.fix(title, root, statement, edits, doubt)
        elif self.is_statement(outer, statement) or (isinstance(statement, cst.Assign) and statement.value is outer):
            if self.can_rebind(root, statement) or self.subscripted_list(root):
                yield self.fix(title, root, statement, [binding, *edits], doubt)
        elif isinstance(root, cst.Name) and not self.read_after(root, statement):
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
            rebound = isinstance(statement, cst.Assign) and any(
                target.target.deep_equals(first) for target in statement.targets
            )
            if not rebound and isinstance(first, cst.Name) and self.read_after(first, statement):
                return  # somebody below reads the input, and was meant to read what was written into it
            safe = temporary or (rebound and self.private(first, statement))
            yield Fix("drop `inplace=True`", safe, tuple(edits))

    def without_out(self, call: cst.Call, out: cst.Arg, statement: cst.BaseSmallStatement) -> Iterator[Fix]:
        root, _ = _stripped(out.value)
        edits = [self.without(call, out)]
        path = self.module.code(root)
        start = self.module.start(statement)
        if self.is_statement(call, statement) or (isinstance(statement, cst.Assign) and statement.value is call):
            if self.can_rebind(root, statement):
                edits.append(Edit(start, start, f"{path} = "))
                yield self.fix(f"let it return a new tensor, and assign that to `{path}`", root, statement, edits, True)
        elif not (isinstance(root, cst.Name) and self.read_after(root, statement)):
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
            if _name(call.func) == "state_dict":
                edit = self.module.replaced(call, f"copy.deepcopy({self.module.code(call)})")
                yield Fix(f"keep a deep copy on line {edit.start.line}", True, (*imports, edit))

    def imported(self, name: str) -> list[Edit]:
        """The import of a module of the standard library, beside the first import, if there is none yet."""
        if self.imports(name):
            return []
        lines = [line for line in self.module.of(cst.SimpleStatementLine) if _is_import(line.body[0])]
        future = isinstance(lines[0].body[0], cst.ImportFrom) and _name_of(lines[0].body[0]) == "__future__"
        place = self.module.end(lines[0]) if future else self.module.start(lines[0])
        return [Edit(place, place, f"\nimport {name}" if future else f"import {name}\n")]

    def constructors(self) -> Iterator[Fix]:
        """``inplace=True`` dropped where a module that overwrites is built: one constructor, or all."""
        edits = [
            self.without(call, flag)
            for call in self.module.of(cst.Call)
            if (flag := _argument(call, "inplace")) is not None
            and _name(call.func)[:1].isupper()
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
        for root in _layers(target):
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
            safe = self.private(root, statement) and not _detours(target)
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
        if self.form not in LEAF_FORMS:
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

    def chain(self, call: cst.Call) -> tuple[list[cst.Call], cst.BaseExpression]:
        """All links of ``x.mul_(2).add_(1)``, the first one first, and ``x``."""
        links = [call]
        while (parent := self.link_above(links[-1])) is not None:
            links.append(parent)
        while (below := _written(links[0])) is not None and isinstance(below, cst.Call):
            if not (_name(below.func).endswith("_") and _written(below) is not None):
                break
            links.insert(0, below)
        base = _written(links[0])
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
        bare = _name(link.func).removesuffix("_")
        if not isinstance(link.func, cst.Attribute):
            return None
        known = bare in ops.tensor_methods() if _is_method(link) else bool(_functions(bare))
        return self.module.replaced(name, bare) if known and _name(link.func).endswith("_") else None

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

    def scope(self, statement: cst.CSTNode) -> _Scope:
        function = self.module.around(statement, cst.FunctionDef)
        return _Scope(self.module, function or self.module.tree)

    def can_rebind(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
        """Whether binding the name to a new tensor does for the rest of the program what the write did."""
        if isinstance(root, cst.Attribute):
            return _is_path(root) and not self.is_parameter(root.attr.value)
        if not isinstance(root, cst.Name):
            return False
        scope = self.scope(statement)
        if not scope.binds(root.value) or scope.iterates(root.value) or scope.fills(root.value):
            return False
        if self.form in LEAF_FORMS and scope.holds_parameter(root.value):
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
        return isinstance(root, cst.Subscript) and _is_path(root.value)

    def read_after(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
        return not isinstance(root, cst.Name) or self.scope(statement).read_after(root.value, statement)

    def private(self, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
        return isinstance(root, cst.Name) and self.scope(statement).private(root.value, statement)


@dataclass
class _Scope:
    """A function, or the module: who binds a name in it, who reads it, and who else may hold what it names."""

    module: _Module
    node: cst.FunctionDef | cst.Module
    names: dict[str, list[cst.Name]] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {}
        for found in _walk(self.node):
            if isinstance(found, cst.Name) and not self._is_label(found):
                self.names.setdefault(found.value, []).append(found)

    def _is_label(self, name: cst.Name) -> bool:
        """An attribute or a keyword: no variable."""
        parent = self.module.parents.get(name)
        if isinstance(parent, cst.Attribute):
            return parent.attr is name
        return isinstance(parent, cst.Arg) and parent.keyword is name

    def bindings(self, name: str) -> Iterator[cst.BaseExpression | None]:
        """What a name is bound to, None where that is not one expression."""
        for found in self.names.get(name, ()):
            parent = self.module.parents[found]
            if isinstance(parent, cst.AssignTarget):
                assign = self.module.parents[parent]
                yield assign.value if isinstance(assign, cst.Assign) else None
            elif isinstance(parent, (cst.AnnAssign, cst.NamedExpr)) and parent.target is found:
                yield parent.value
            elif isinstance(parent, (cst.Param, cst.AsName)) or self._in_target(found):
                yield None

    def _in_target(self, name: cst.Name) -> bool:
        """Inside of ``a, (b, c) = ...`` or ``for a, b in ...``."""
        node: cst.CSTNode = name
        for parent in self.module.above(name):
            if isinstance(parent, cst.AssignTarget):
                return True
            if isinstance(parent, (cst.For, cst.CompFor)):
                return parent.target is node
            if not isinstance(parent, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
                return False
            node = parent
        return False

    def binds(self, name: str) -> bool:
        return any(True for _ in self.bindings(name))

    def fills(self, name: str) -> bool:
        """Whether a function is called for what it does to an argument: it hands nothing back and keeps nothing."""
        given = any(isinstance(self.module.parents[found], cst.Param) for found in self.names.get(name, ()))
        handed = any(
            (isinstance(node, cst.Return) and node.value is not None)
            or isinstance(node, cst.Yield)
            or (isinstance(node, cst.Assign) and _mentions(node.value, name) and _keeps(node))
            for node in _walk(self.node)
        )
        return given and not handed

    def holds_parameter(self, name: str) -> bool:
        """Whether the tensor itself is to change: one that is looped over, filled, or a new parameter."""
        values = [value for value in self.bindings(name) if isinstance(value, cst.Call)]
        return self.iterates(name) or self.fills(name) or any(_name(value.func) == "Parameter" for value in values)

    def iterates(self, name: str) -> bool:
        for found in self.names.get(name, ()):
            node: cst.CSTNode = found
            for parent in self.module.above(found):
                if isinstance(parent, (cst.For, cst.CompFor)) and parent.target is node:
                    return True
                if not isinstance(parent, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
                    break
                node = parent
        return False

    def uses(self, name: str) -> Iterator[cst.Name]:
        """Where the value of a name is read."""
        for found in self.names.get(name, ()):
            parent = self.module.parents[found]
            if isinstance(parent, (cst.AssignTarget, cst.Param, cst.AsName)) or self._in_target(found):
                continue
            yield found

    def read_after(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether a name is read behind a statement, or in a next round of a loop around it."""
        start, end = self.module.start(statement), self.module.end(statement)
        loops = [node for node in self.module.above(statement) if isinstance(node, (cst.For, cst.While))]
        inside = [loop for loop in loops if self.node in self.module.above(loop)]
        for use in self.uses(name):
            place = self.module.start(use)
            if place >= end:
                return True
            if any(
                self.module.start(loop.body) <= place < start and not self._bound_before(name, loop, use)
                for loop in inside
            ):
                return True
        return False

    def _bound_before(self, name: str, loop: cst.For | cst.While, use: cst.CSTNode) -> bool:
        """Whether each round of a loop binds a name anew before a use of it."""
        lines = loop.body.body if isinstance(loop.body, cst.IndentedBlock) else ()
        return any(
            isinstance(target.target, cst.Name) and target.target.value == name
            for line in lines
            if isinstance(line, cst.SimpleStatementLine) and self.module.end(line) <= self.module.start(use)
            for small in line.body
            if isinstance(small, cst.Assign)
            for target in small.targets
        )

    def part_of_another(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether a name is a view of another that is read afterwards: a write to it was meant to reach that one."""
        for value in self.bindings(name):
            if isinstance(value, cst.Name) or value is None:
                continue
            root = _viewed(value)
            other = root.value if root is not value and isinstance(root, cst.Name) else name
            if other != name and self.read_after(other, statement):
                return True
        return False

    def computed(self, name: str) -> bool:
        """Whether a name is bound to new tensors only."""
        values = list(self.bindings(name))
        fresh = [value is not None and (self.module.fresh(value) or self._chains(name, value)) for value in values]
        return bool(values) and all(fresh)

    def numpy(self) -> bool:
        """Whether it computes with numpy alone: arrays have ``copy`` and no ``clone``."""
        used = {_first_name(node.func) for node in _walk(self.node) if isinstance(node, cst.Call)}
        return bool(used & {"np", "numpy"}) and "torch" not in used

    def private(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether nobody else holds the tensor: computed here, and so far only computed with."""
        if not isinstance(self.node, cst.FunctionDef) or not self.computed(name):
            return False
        end = self.module.end(statement)
        loop = self.module.around(statement, cst.For) or self.module.around(statement, cst.While)
        for use in self.uses(name):
            function = self.module.around(use, cst.FunctionDef)
            if function is not self.node or self.module.around(use, cst.Lambda) is not None:
                return False
            earlier = self.module.start(use) < end
            again = loop is not None and self.module.start(loop) <= self.module.start(use) <= self.module.end(loop)
            if (earlier or again) and not self._computes(use, statement):
                return False
        return True

    def _chains(self, name: str, value: cst.BaseExpression) -> bool:
        """``x = x.mul_(2)``: the same tensor once more."""
        while isinstance(value, cst.Call) and (below := _written(value)) is not None:
            value = below
        return isinstance(value, cst.Name) and value.value == name

    def _computes(self, use: cst.Name, statement: cst.CSTNode) -> bool:
        """Whether a use makes a new tensor of the value, and so keeps no name for it."""
        node: cst.CSTNode = use
        for parent in self.module.above(use):
            if isinstance(parent, (cst.BinaryOperation, cst.Comparison, cst.UnaryOperation)):
                return True
            if parent is statement or isinstance(parent, cst.AugAssign):
                return True
            if isinstance(parent, cst.Call) and self.module.fresh(parent):
                return True
            if isinstance(parent, cst.Subscript) and parent.value is not node:
                return True
            if isinstance(parent, cst.Attribute) and parent.value is node and parent.attr.value in ops.scalar_methods():
                return True
            if isinstance(parent, cst.BaseStatement):
                return False
            node = parent
        return False


# Expressions


def _name(node: cst.BaseExpression) -> str:
    """The last name of a dotted path."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _is_path(node: cst.BaseExpression) -> bool:
    """``x``, ``self.h``, ``self.states.h``: reading it twice does nothing twice."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)


def _argument(call: cst.Call, name: str) -> cst.Arg | None:
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def _is_method(call: cst.Call) -> bool:
    """``x.relu_()``, not ``torch.relu_(x)``."""
    return isinstance(call.func, cst.Attribute) and not _is_library(call.func.value)


def _first_name(node: cst.BaseExpression) -> str:
    """``torch`` of ``torch.nn.functional``."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _is_library(node: cst.BaseExpression) -> bool:
    return _first_name(node) in ("torch", "F", "nn")


def _written(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor that an in-place call overwrites."""
    if _is_method(call):
        assert isinstance(call.func, cst.Attribute)
        return call.func.value
    return call.args[0].value if call.args else None


def _functions(name: str) -> tuple[ops.Op, ...]:
    return ops.lookup(f"torch.{name}") or ops.lookup(f"torch.nn.functional.{name}")


def _stripped(node: cst.BaseExpression) -> tuple[cst.BaseExpression, bool]:
    """``x`` of ``x.data`` and ``x.detach()``, and whether there was a detour."""
    inner = node.func if isinstance(node, cst.Call) and not node.args else node
    if isinstance(inner, cst.Attribute) and inner.attr.value in (("data",) if inner is node else ("detach",)):
        return _stripped(inner.value)[0], True
    return node, False


def _root(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a part or a view is a part of in the end: ``x`` of ``x[0].view(-1)``."""
    return _layers(node)[-1]


def _viewed(node: cst.BaseExpression) -> cst.BaseExpression:
    """What an expression is surely a part or a view of."""
    while True:
        if isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and _is_method(node):
            found = ops.lookup(f"Tensor.{node.func.attr.value}")
            if not any(out.kind != "fresh" for op in found for out in op.outs):
                return node
            node = node.func.value
        else:
            return node


def _layers(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What could be copied before a part of it is written, from the inside: ``x[i]`` and ``x`` of ``x[i][0]``."""
    found: list[cst.BaseExpression] = []
    while True:
        inner = _stripped(node)[0]
        if inner is not node:
            node = inner
        elif isinstance(node, cst.Subscript):
            if _is_slot(node):
                found.append(node)
            if _is_key(node):
                return found  # of a dictionary, which is no tensor
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and _is_method(node):
            node = node.func.value
        elif isinstance(node, cst.Attribute) and node.attr.value in _VIEW_ATTRIBUTES:
            node = node.value
        else:
            return [*found, node]


def _is_key(node: cst.Subscript) -> bool:
    index = node.slice[0].slice
    return isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString)


def _is_slot(node: cst.Subscript) -> bool:
    """``rows[i]`` or ``cache["h"]``, which may be an element of a container; with a slice or a mask it is none."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(index, cst.Index) or not _is_path(node.value):
        return False
    return isinstance(index.value, (cst.Name, cst.Integer, cst.SimpleString, cst.BinaryOperation, cst.UnaryOperation))


def _detours(node: cst.BaseExpression) -> bool:
    """Whether a view goes around autograd."""
    return any(isinstance(part, cst.Name) and part.value in ("data", "detach", "numpy") for part in _walk(node))


def _is_number(node: cst.BaseExpression) -> bool:
    """Arithmetic with numbers alone, which changes no tensor's type."""
    if isinstance(node, (cst.BinaryOperation,)):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression)
    if isinstance(node, cst.Attribute):
        return isinstance(node.value, cst.Name) and node.value.value == "math"
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and _is_number(node.func)
    return isinstance(node, (cst.Integer, cst.Float))


def _numbers(call: cst.Call) -> bool:
    return all(_is_number(argument.value) for argument in call.args)


def _is_fresh(found: Sequence[ops.Op]) -> bool:
    return bool(found) and all(out.kind == "fresh" for op in found for out in op.outs)


def _mentions(node: cst.CSTNode, name: str) -> bool:
    return any(isinstance(part, cst.Name) and part.value == name for part in _walk(node))


def _keeps(assign: cst.Assign) -> bool:
    """Whether an assignment stores something in an object."""
    return any(isinstance(target.target, cst.Attribute) for target in assign.targets)


def _range_from_one(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """``n`` of ``range(1, n)``."""
    if isinstance(node, cst.Call) and _name(node.func) == "range" and len(node.args) == 2:
        first = node.args[0].value
        return node.args[1].value if isinstance(first, cst.Integer) and first.value == "1" else None
    return None


def _is_import(node: cst.BaseSmallStatement) -> bool:
    return isinstance(node, (cst.Import, cst.ImportFrom))


def _name_of(node: cst.ImportFrom) -> str:
    return node.module.value if isinstance(node.module, cst.Name) else ""
