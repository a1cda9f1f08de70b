"""How a program is worded: the names in a piece of its text. What values can tell is not asked here.

Only in `hazards.intent` does it silence a finding: a name says what a program means, not what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import libcst as cst

from ..torchfacts import arrays, contents
from ..torchfacts import ops as facts
from .nodes import parts
from .operands import called_name, words

_IDENTIFYING = frozenset({"_version", "data_ptr", "untyped_storage", "is_set_to"})
"""Attributes that tell whether two tensors share their memory."""


def mentioned(node: cst.CSTNode) -> Iterator[str]:
    """The names in a piece of program text."""
    if type(node) is cst.Name:
        yield node.value
    for child in parts(node):
        yield from mentioned(child)


def paths(node: cst.CSTNode) -> Iterator[tuple[str, ...]]:
    """The variables in a piece of program text, each with the attributes that follow: ``("self", "old")``.

    The names of arguments are none, and those in a lambda are its own.
    """
    path: tuple[str, ...] = ()
    while isinstance(node, cst.Attribute):
        path = (node.attr.value, *path)
        node = node.value
    if type(node) is cst.Name:
        yield (node.value, *path)
    elif type(node) is cst.Arg:
        yield from paths(node.value)
    elif type(node) is not cst.Lambda:
        for child in parts(node):
            yield from paths(child)


def indices(node: cst.CSTNode) -> Iterator[str]:
    """The names in the subscripts of a piece of program text: ``i`` of ``points[i]``."""
    for part in node.slice if type(node) is cst.Subscript else ():
        yield from mentioned(part)
    for child in parts(node):
        yield from indices(child)


def targets(node: cst.CSTNode | None) -> frozenset[str]:
    """The variables that an assignment binds, or the target of one."""
    if type(node) is cst.Assign:
        return frozenset().union(*(targets(target.target) for target in node.targets))
    if isinstance(node, (cst.Tuple, cst.List)):
        return frozenset().union(*(targets(element.value) for element in node.elements))
    return frozenset({node.value}) if type(node) is cst.Name else frozenset()


def sources(node: cst.CSTNode | None) -> frozenset[str]:
    """The names on the right of an assignment; none of ``x += y``."""
    return frozenset(mentioned(node.value)) if type(node) is cst.Assign else frozenset()


def binds(node: cst.CSTNode, name: str, other: str) -> bool:
    """Whether a text binds a variable to another one: ``name = other``, ``name = x.sum() if more else other``."""
    if type(node) is cst.Assign:
        arms = (node.value.body, node.value.orelse) if isinstance(node.value, cst.IfExp) else (node.value,)
        return any(type(arm) is cst.Name and arm.value == other for arm in arms) and name in targets(node)
    return any(binds(part, name, other) for part in parts(node))


def is_expression(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseExpression)


def is_statement(line: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a line is made of an expression alone, or is an augmented assignment itself."""
    return line is node or (isinstance(line, cst.Expr) and line.value is node)


def is_assigned(line: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether an expression is all that an assignment binds its targets to."""
    return isinstance(line, (cst.Assign, cst.AnnAssign)) and line.value is node


def takes_last(node: cst.CSTNode) -> bool:
    """Whether a text takes the last of what it collects: ``list(f(x))[-1]``, ``[*f(x)][-1]``."""
    if isinstance(node, cst.Subscript) and isinstance(node.value, (cst.Call, cst.List, cst.Tuple)):
        index = node.slice[0].slice.value if isinstance(node.slice[0].slice, cst.Index) else None
        if isinstance(index, cst.UnaryOperation) and isinstance(index.operator, cst.Minus):
            return isinstance(index.expression, cst.Integer) and index.expression.value == "1"
    return any(takes_last(part) for part in parts(node))


def written_name(node: cst.CSTNode, is_module: Callable[[str], bool]) -> str:
    """The variable that a writing expression is spelled with: ``x`` in ``x[0].mul_(2)``, or an empty string.

    ``is_module`` tells the modules among the variables: their functions write to an argument, as ``F.relu_(x)`` does.
    """
    if type(node) is cst.Call:
        if type(node.func) is cst.Call and called_name(node.func) == "getattr" and node.func.args:
            node = node.func.args[0].value
        elif type(node.func) is cst.Attribute and not _is_function(node.func, is_module):
            node = node.func.value
        elif node.args and not node.args[0].star:
            node = node.args[0].value
    elif type(node) is cst.AugAssign:
        node = node.target
    while isinstance(node, (cst.Subscript, cst.Call)):
        node = node.func if isinstance(node, cst.Call) else node.value
        node = node.value if type(node) is cst.Attribute else node
    return node.value if type(node) is cst.Name else ""


def output_name(node: cst.CSTNode) -> str:
    """The variable that ``out=`` of a call is spelled with, or an empty string."""
    for arg in node.args if type(node) is cst.Call else ():
        if arg.keyword is not None and arg.keyword.value == "out":
            return root(arg.value)
    return ""


def argument_names(node: cst.CSTNode) -> list[str]:
    """The variables that are arguments of a call."""
    args = node.args if type(node) is cst.Call else ()
    return [arg.value.value for arg in args if type(arg.value) is cst.Name]


def given_attributes(node: cst.CSTNode) -> frozenset[str]:
    """The attributes in the arguments of a call: ``mean`` in ``update(self.mean.data, x)``."""
    args = node.args if type(node) is cst.Call else ()
    return frozenset(name for arg in args for path in paths(arg) for name in path[1:])


def filled_otherwise(node: cst.CSTNode, line: cst.CSTNode | None, name: str) -> Iterator[str]:
    """The functions that get a variable as a statement, in the arm of an ``if`` that has not got a line in the other.

    ``fill`` of ``if given: table[i] = given``, ``else: fill(row)``.
    """
    if isinstance(node, cst.If) and node.orelse is not None:
        arms = (node.body, node.orelse)
        for arm, other in (arms, arms[::-1]):
            if _holds(arm, line) and not _holds(other, line):
                yield from _given_to(other, name)
    for child in parts(node):
        yield from filled_otherwise(child, line, name)


def _holds(node: cst.CSTNode, wanted: cst.CSTNode | None) -> bool:
    return node is wanted or any(_holds(child, wanted) for child in parts(node))


def _given_to(node: cst.CSTNode, name: str) -> Iterator[str]:
    if isinstance(node, cst.Expr) and name in argument_names(node.value):
        yield called_name(node.value)
    for child in parts(node):
        yield from _given_to(child, name)


def written_by(line: cst.CSTNode | None) -> frozenset[str]:
    """The variables that a statement may be a write to: ``x`` of ``x += 1``, of ``x[0] = y`` and of ``x.add_(y)``.

    A function that is called as a statement may write to any argument, and to what that is a view of.
    """
    if type(line) is cst.AugAssign:
        return frozenset({root(line.target)})
    if type(line) is cst.Assign:
        return frozenset(root(target.target) for target in line.targets if type(target.target) is cst.Subscript)
    if type(line) is cst.Expr and type(line.value) is cst.Call:
        given = (arg.value for arg in line.value.args if not _is_computed(arg.value))
        return frozenset(map(root, (line.value.func, *given)))
    return frozenset()


def _is_computed(node: cst.CSTNode) -> bool:
    """Whether an expression ends with methods of which one returns memory of its own: ``x.abs()[0]``."""
    while isinstance(node, (cst.Call, cst.Attribute, cst.Subscript)):
        if isinstance(node, cst.Call):
            method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
            if method and not facts.is_view(method):
                return not method.endswith("_")
            node = node.func
        else:
            node = node.value
    return False


def parts_filled(node: cst.CSTNode, line: cst.CSTNode | None) -> frozenset[str]:
    """The variables whose elements an arm of an ``if`` before a statement adds to: ``x`` of ``x[i] += 1``."""
    every = [*_in_order(node)]
    before = every[: every.index(line)] if line in every else []
    arms = [arm for part in before if isinstance(part, cst.If) for arm in (part.body, part.orelse) if arm is not None]
    lines = [part for arm in arms for part in _in_order(arm) if type(part) is cst.AugAssign]
    return frozenset(root(part) for part in lines if type(part.target) is cst.Subscript and part in before)


def root(node: cst.CSTNode) -> str:
    """The variable that an expression, or the target of an augmented assignment, begins with."""
    node = node.target if type(node) is cst.AugAssign else node
    while True:
        if type(node) is cst.Call:
            node = node.func
        elif type(node) is cst.Attribute or type(node) is cst.Subscript:
            node = node.value
        else:
            break
    return node.value if type(node) is cst.Name else ""


def _is_function(called: cst.Attribute, is_module: Callable[[str], bool]) -> bool:
    owner = called.value
    while type(owner) is cst.Attribute:
        owner = owner.value
    return not _overwrites(called) or (type(owner) is cst.Name and is_module(owner.value))


def _overwrites(called: cst.Attribute) -> bool:
    """Whether a method is named like one that overwrites its receiver: ``add_``, and ``fill`` of arrays."""
    return called.attr.value.endswith("_") or called.attr.value in arrays.writing_methods()


def written_attribute(node: cst.CSTNode, is_module: Callable[[str], bool]) -> str:
    """The attribute that a write is spelled with: ``h`` in ``self.h[0] = 0`` and ``self.h.add_(1)``, or nothing.

    ``is_module`` tells the modules among the variables: their functions write to an argument, ``init.ones_(self.h)``.
    """
    while type(node) is cst.Call and type(node.func) is cst.Attribute and not _is_function(node.func, is_module):
        node = node.func.value  # of a chain, the first: ``self.h.mul_(2).add_(1)``
    if type(node) is cst.Call and type(node.func) is cst.Attribute and _overwrites(node.func) and node.args:
        node = node.args[0].value
    if type(node) is cst.AugAssign:
        node = node.target
    while type(node) is cst.Subscript:
        node = node.value
    return node.attr.value if type(node) is cst.Attribute else ""


def written_holder(node: cst.CSTNode) -> cst.CSTNode | None:
    """The attribute or element that a write is spelled with: ``self.h`` of ``self.h.add_(1)`` and ``self.h += 1``."""
    while type(node) is cst.Call and type(node.func) is cst.Attribute and _overwrites(node.func):
        node = node.func.value
    if type(node) is cst.AugAssign:
        node = node.target
    return node if type(node) is cst.Attribute or type(node) is cst.Subscript else None


def reads_target(node: cst.CSTNode, target: cst.CSTNode) -> bool:
    """Whether a statement has an attribute or element on its right side, and asks for more than its shape."""
    if isinstance(node, (cst.Assign, cst.AugAssign)):
        return reads_target(node.value, target)
    if type(node) is cst.Attribute and node.attr.value in contents.METADATA:
        return False
    if type(node) is type(target) and list(words(node)) == list(words(target)):
        return True
    return any(reads_target(part, target) for part in parts(node))


def links(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The calls that a chain began with: ``x.mul_(a)`` of ``x.mul_(a).add_(b)``."""
    while type(node) is cst.Call and type(node.func) is cst.Attribute:
        node = node.func.value
        yield node


def lists(node: cst.CSTNode, name: str) -> bool:
    """Whether a text puts a variable into a list, or loops over a tuple with it."""
    held: Sequence[cst.CSTNode] = ()
    if isinstance(node, cst.List):
        held = [element.value for element in node.elements]
    elif isinstance(node, cst.For) and isinstance(node.iter, cst.Tuple):
        held = [element.value for element in node.iter.elements]
    elif type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value == "append":
        held = [arg.value for arg in node.args]
    found = any(type(part) is cst.Name and part.value == name for part in held)
    return found or any(lists(child, name) for child in parts(node))


def is_built_for(node: cst.CSTNode, one: str, other: str, write: cst.CSTNode | None, line: cst.CSTNode | None) -> bool:
    """Whether a loop builds up by one name, in the statement ``write``, what the statement ``line`` reads by another.

    One assignment before the loop binds both, ``d = r = q * scale``, and ``r`` isn't used after ``line``.
    """
    every = [*_in_order(node)]
    together = [part for part in every if type(part) is cst.Assign and {one, other} <= _chained(part)]
    if not together or line not in every:
        return False
    loops = [[*_in_order(part)] for part in every if isinstance(part, (cst.For, cst.While))]
    bound = [
        target.target for part in together for target in part.targets if one not in frozenset(mentioned(part.value))
    ]
    following = every[every.index(line) :]
    later = next((part for part in following if type(part) is cst.Name and part.value == one), None)
    built = any(write in loop and line not in loop and together[0] not in loop for loop in loops)
    return built and (later is None or later in bound)


def is_used_after(node: cst.CSTNode, line: cst.CSTNode, name: str, called: bool = True) -> bool:
    """Whether a text uses a variable after a statement, or anywhere in a loop around it.

    If not ``called``, uses in calls that are statements don't count.
    """
    every, own = [*_in_order(node)], [*_in_order(line)]
    if line not in every:
        return True
    later = every[every.index(line) + len(own) :]
    loops = [part for part in every if isinstance(part, (cst.For, cst.While)) and _holds(part, line)]
    around = [part for loop in loops for part in _in_order(loop) if part not in own]
    calls = [part for part in (*later, *around) if type(part) is cst.Expr and not called]
    skipped = {part for call in calls for part in _in_order(call)}
    found = [part for part in (*later, *around) if part not in skipped]
    return any(type(part) is cst.Name and part.value == name for part in found)


def _chained(node: cst.Assign) -> frozenset[str]:
    """The variables that an assignment binds to one value: ``a = b = x``."""
    return frozenset(target.target.value for target in node.targets if isinstance(target.target, cst.Name))


def binds_with_holder(node: cst.CSTNode, name: str) -> bool:
    """Whether an assignment binds a variable, and an element or attribute too: ``buf = state["m"] = g.clone()``."""
    if type(node) is cst.Assign and name in _chained(node):
        return any(isinstance(target.target, (cst.Subscript, cst.Attribute)) for target in node.targets)
    return any(binds_with_holder(part, name) for part in parts(node))


def takes_part(node: cst.CSTNode, whole: cst.CSTNode) -> bool:
    """Whether a text takes a part of what an expression in it gives: ``batch["x"][i]`` of ``batch["x"]``."""
    if type(node) is cst.Subscript and node.value is whole:
        return True
    return any(takes_part(child, whole) for child in parts(node))


def _in_order(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The parts of a text, in its order."""
    yield node
    for part in parts(node):
        yield from _in_order(part)


def tells_apart(node: cst.CSTNode, one: str, other: str) -> bool:
    """Whether a text asks whether two variables are one, or may make them one: ``one = other if inplace else ...``."""
    if type(node) is cst.Attribute and node.attr.value in _IDENTIFYING and type(node.value) is cst.Name:
        return node.value.value in (one, other)
    if type(node) is cst.Assign and isinstance(node.value, cst.IfExp):
        arms = [arm.value for arm in (node.value.body, node.value.orelse) if type(arm) is cst.Name]
        if one in targets(node) and other in arms:
            return True
    if type(node) is cst.Comparison:
        (first, *_) = node.comparisons
        by_is = isinstance(first.operator, (cst.Is, cst.IsNot))
        if {_identified(side, by_is) for side in (node.left, first.comparator)} == {one, other}:
            return True
    return any(tells_apart(child, one, other) for child in parts(node))


def _identified(node: cst.BaseExpression, by_is: bool) -> str:
    """The variable whose identity an expression is: ``x`` beside ``is``, or ``id(x)``. ``x == y`` compares elements."""
    if type(node) is cst.Call and type(node.func) is cst.Name and node.func.value == "id" and node.args:
        node, by_is = node.args[0].value, True
    return node.value if type(node) is cst.Name and by_is else ""


def under_test(node: cst.CSTNode, wanted: cst.CSTNode, asks: Callable[[str], bool], asked: bool = False) -> bool:
    """Whether ``wanted`` stands in an arm of a test with a name that ``asks`` accepts, or holds such a test."""
    if node is wanted:
        return asked or _tests(node, asks)
    asked = asked or (isinstance(node, (cst.If, cst.IfExp)) and any(map(asks, mentioned(node.test))))
    return any(under_test(part, wanted, asks, asked) for part in parts(node))


def shows_enabled(test: cst.CSTNode, asks: Callable[[str], bool], truth: bool) -> bool:
    """Whether a test that came out as ``truth`` shows that an option with a name that ``asks`` accepts is on."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return shows_enabled(test.expression, asks, not truth)
    if isinstance(test, cst.BooleanOperation):
        sure = truth is isinstance(test.operator, cst.And)
        return sure and any(shows_enabled(part, asks, truth) for part in (test.left, test.right))
    return truth and isinstance(test, (cst.Name, cst.Attribute, cst.Param)) and any(map(asks, mentioned(test)))


def _tests(node: cst.CSTNode, asks: Callable[[str], bool]) -> bool:
    if isinstance(node, cst.IfExp) and any(map(asks, mentioned(node.test))):
        return True
    return any(_tests(part, asks) for part in parts(node))


def loops_around(
    node: cst.CSTNode, one: cst.CSTNode, other: cst.CSTNode, depth: int = 1
) -> Iterator[tuple[int, frozenset[str], frozenset[str]]]:
    """For each loop whose body holds both of two parts of a text: how many loops it is with those around it, its
    targets, and the names in what it goes over.
    """
    loop = isinstance(node, (cst.For, cst.While))
    if isinstance(node, (cst.For, cst.While)) and _holds(node.body, one) and _holds(node.body, other):
        if isinstance(node, cst.For):
            yield depth, targets(node.target), frozenset(mentioned(node.iter))
        else:
            yield depth, frozenset(), frozenset()
    for part in parts(node):
        yield from loops_around(part, one, other, depth + loop)


def places(node: cst.CSTNode, names: Collection[str]) -> frozenset[str]:
    """The variables that a text takes elements of these by: ``i`` of ``rows[i]``."""
    found = [part for part in _in_order(node) if type(part) is cst.Subscript and type(part.value) is cst.Name]
    taken = [part for part in found if type(part.value) is cst.Name and part.value.value in names]
    return frozenset(
        each.slice.value.value
        for part in taken
        for each in part.slice
        if type(each.slice) is cst.Index and type(each.slice.value) is cst.Name
    )
