"""Which variables of a function its text proves to be tensors, or arrays, wherever in the function the proof stands.

A statement that every run comes to proves it: a function of torch takes a tensor there, or only tensors have such a
method. It is a proof as well if a variable is proven that was computed from nothing but the parameter: ``t = t.exp()``,
and then ``t.mul_(2)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import libcst as cst

from ..heap.values import Ref
from ..program import wording
from ..program.nodes import has, parts
from ..program.operands import called_name
from ..torchfacts import ops as facts
from ..trace.frames import Frame, Function
from ..trace.trace import Trace
from .dispatch import evaluate
from .functions import positional

_LEAVING = (cst.Return, cst.Raise, cst.Break, cst.Continue)
_CONDITIONAL = (cst.Lambda, cst.IfExp, cst.BooleanOperation, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_BINDING = (cst.BaseCompoundStatement, cst.AnnAssign, cst.NamedExpr)
_Definitions = frozenset[str | cst.Assign]
"""Parameters, by their names, and assignments to variables."""
_Roots = dict[str, _Definitions]
"""The parameters and the results of assignments that are tensors if a variable is one."""


def tensors(m: Trace, function: Function) -> _Definitions:
    """The parameters, and the results of assignments, that are surely tensors."""
    found = m.text.tensors.get(function.node)
    if found is None:
        body = m.text.body(function)[0]
        params = (*positional(function.node.params), *function.node.params.kwonly_params)
        roots: _Roots = {param.name.value: frozenset({param.name.value}) for param in params}
        found = frozenset()
        for statement in _always(body) if isinstance(body, cst.BaseSuite) else ():
            for name in _used_as_tensors(m, statement, function.frame):
                found |= roots.get(name, frozenset())
            _rebind(statement, roots)
        m.text.tensors[function.node] = found
    return found


def foreign_attribute(m: Trace, function: Function, name: str) -> str:
    """Return an attribute of a parameter that tensors don't have: ``pos`` of ``data.pos``, or an empty string."""
    for attribute in _attributes(m.text.body(function)[0], name):
        if not attribute:
            return ""
        if not attribute.startswith("_") and attribute not in facts.tensor_methods() | facts.scalar_methods():
            return attribute
    return ""


def _attributes(node: cst.CSTNode, name: str) -> Iterator[str]:
    """Yield the attributes that a text reads of each value of a variable, in order; "" where it may be another one.

    ``x = data.x if hasattr(data, "x") else data`` asks what the variable is, and reads attributes of some values only.
    """
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        return
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        if node.value.value == name:
            yield node.attr.value
    elif isinstance(node, cst.Assign):
        yield from _attributes(node.value, name)
        yield from ("" for target in node.targets if name in frozenset(wording.mentioned(target)))
    elif _asks(node, name):
        yield from ("" for _ in (node,) if has(node, *_LEAVING) or name in frozenset(_bindings(node)))
    else:
        if isinstance(node, _BINDING) and name in frozenset(_bindings(node)):
            yield ""
        for part in parts(node):
            yield from _attributes(part, name)


def _asks(node: cst.CSTNode, name: str) -> bool:
    """Whether a text may depend on what a variable is: it has a test of it, and not only of its attributes."""
    if isinstance(node, cst.Try):
        return name in frozenset(wording.mentioned(node.body))
    test = node.test if isinstance(node, (cst.If, cst.IfExp, cst.While, cst.Assert)) else None
    test = node.left if isinstance(node, cst.BooleanOperation) else test
    return test is not None and _is_bare(test, name)


def _is_bare(node: cst.CSTNode, name: str) -> bool:
    """Whether a text mentions a variable, and not only its attributes."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return False
    if isinstance(node, cst.Name):
        return node.value == name
    return any(_is_bare(part, name) for part in parts(node))


def arrays(m: Trace, function: Function) -> frozenset[str]:
    """The variables of a function that are surely arrays of numpy: ``torch.from_numpy(x)`` takes nothing else.

    A variable that is bound more than once may be something else before.
    """
    found = m.text.arrays.get(function.node)
    if found is None:
        body, piece = m.text.body(function)
        names: list[str] = []
        if "from_numpy" in piece.mentions and isinstance(body, cst.BaseSuite):
            names = [name for statement in _always(body) for name in _taken_as_arrays(m, statement, function.frame)]
        every = [*_bindings(body), *(param.name.value for param in positional(function.node.params))] if names else ()
        bound = Counter(every)
        found = m.text.arrays[function.node] = frozenset(name for name in names if bound[name] == 1)
    return found


def _taken_as_arrays(m: Trace, node: cst.CSTNode, frame: Frame) -> Iterator[str]:
    """The variables that ``torch.from_numpy`` is given in a statement, whatever comes of its conditions."""
    if isinstance(node, (cst.BaseCompoundStatement, *_CONDITIONAL)):
        return
    if isinstance(node, cst.Call) and called_name(node) == "from_numpy" and len(node.args) == 1:
        given, callee = node.args[0].value, m.see(evaluate(m, node.func, frame))
        yield from [given.value] if isinstance(given, cst.Name) and callee == _FROM_NUMPY else []
    for part in parts(node):
        yield from _taken_as_arrays(m, part, frame)


_FROM_NUMPY = Ref("torch.from_numpy")


def _bindings(node: cst.CSTNode) -> Iterator[str]:
    """The variables that a text binds, each as often as it does. An augmented assignment changes an array in place."""
    if isinstance(node, cst.Assign):
        yield from (name for target in node.targets for name in wording.targets(target.target))
    elif isinstance(node, (cst.For, cst.CompFor, cst.NamedExpr, cst.AnnAssign)):
        yield from wording.targets(node.target)
    elif isinstance(node, cst.AsName):
        yield from wording.targets(node.name)
    for part in parts(node):
        yield from _bindings(part)


def _always(body: cst.BaseSuite) -> Iterator[cst.CSTNode]:
    """The simple statements that every run of a body comes to."""
    for line in body.body:
        if isinstance(line, cst.SimpleStatementLine):
            yield from line.body
        elif isinstance(line, cst.With):
            yield from _always(line.body)
        elif not isinstance(line, (cst.FunctionDef, cst.ClassDef)):
            yield line  # it may bind variables
            if has(line, *_LEAVING):
                return


def _rebind(statement: cst.CSTNode, roots: _Roots) -> None:
    """A statement binds variables anew."""
    if isinstance(statement, cst.BaseCompoundStatement):
        for name in frozenset(wording.mentioned(statement)).intersection(roots):
            if _binds(statement, name):
                del roots[name]
    elif isinstance(statement, cst.Assign):
        made = _roots_of(statement.value, roots)
        for name in wording.targets(statement):
            roots.pop(name, None)
            if len(statement.targets) == 1 and isinstance(statement.targets[0].target, cst.Name):
                roots[name] = made | {statement}
    elif isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name):
        roots.pop(statement.target.value, None)


def _binds(node: cst.CSTNode, name: str) -> bool:
    """Whether a statement binds a variable, in any of its parts."""
    target = node.target if isinstance(node, (cst.For, cst.NamedExpr, cst.AnnAssign)) else node
    if name in wording.targets(target):
        return target is not node or isinstance(node, cst.Assign)
    return any(_binds(part, name) for part in parts(node))


def _roots_of(node: cst.BaseExpression, roots: _Roots) -> _Definitions:
    """What is a tensor if what an expression computes is one: of ``-x.exp() * 2``, ``x``."""
    if isinstance(node, cst.Name):
        return roots.get(node.value, frozenset())
    if isinstance(node, cst.UnaryOperation):
        return _roots_of(node.expression, roots)
    if isinstance(node, cst.BinaryOperation):
        sides = [side for side in (node.left, node.right) if not isinstance(side, (cst.Integer, cst.Float))]
        return _roots_of(sides[0], roots) if len(sides) == 1 else frozenset()
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = node.func.attr.value
        computes = name in facts.tensor_methods() and name not in facts.scalar_methods()
        return _roots_of(node.func.value, roots) if computes else frozenset()
    return frozenset()


def _used_as_tensors(m: Trace, node: cst.CSTNode, frame: Frame) -> Iterator[str]:
    """The variables that a statement uses as only tensors can be used, whatever comes of its conditions."""
    if isinstance(node, (cst.BaseCompoundStatement, *_CONDITIONAL)):
        return
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        owner, name = node.func.value, node.func.attr.value
        first = node.args[0].value if node.args and not node.args[0].star and node.args[0].keyword is None else None
        named = isinstance(first, cst.BaseString)  # which no such method of a tensor takes: this is a table
        if isinstance(owner, cst.Name) and name in facts.tensor_only_methods() and not named:
            yield owner.value
        if isinstance(first, cst.Name) and _takes_tensor(m, node.func, frame):
            yield first.value
    for part in parts(node):
        yield from _used_as_tensors(m, part, frame)


def _takes_tensor(m: Trace, func: cst.Attribute, frame: Frame) -> bool:
    """Whether a function of torch takes nothing but a tensor first: ``torch.sigmoid``, ``F.relu``."""
    root: cst.BaseExpression = func
    while isinstance(root, cst.Attribute):
        root = root.value
    callee = m.see(evaluate(m, func, frame)) if isinstance(root, cst.Name) else None
    ops = facts.lookup(callee.name) if isinstance(callee, Ref) and callee.name.startswith("torch.") else ()
    return bool(ops) and all(op.params and op.params[0].kind == "tensor" for op in ops)
