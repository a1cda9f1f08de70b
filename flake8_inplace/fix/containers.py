"""A container whose tensors are overwritten: its tensors are copied where it, or a copy of it alone, gets a name.

``old = list(net.parameters())`` becomes ``old = [p.detach().clone() for p in net.parameters()]``, and ``mean =
copy.copy(states[0])`` becomes ``mean = copy.deepcopy(states[0])``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from ..finding import Edit, Finding, Fix
from ..rules import RULES
from .facts import Fact
from .kept import follows
from .scope import scope_around
from .statements import deep_copying, writing_statements
from .syntax import Module, is_path, last_name, root_of, stripped, viewed_root, walk

_TRIED = 4
_OWN = frozenset({"grad", "data", "requires_grad"})
"""What only the parameter itself has, and not a copy of its values."""
_ITEM = "each"
_SHALLOW = frozenset({"list", "tuple", "dict", "OrderedDict"})
_ALIAS, _COPY = ".detach()", ".clone()"


def containers(
    module: Module, finding: Finding, fact: Fact | None, after: Callable[[Sequence[Edit]], Sequence[Finding] | None]
) -> Iterator[Fix]:
    """A copy of all that a container has, where it is bound to what is read, or to what a function overwrites."""
    for assign in _bindings(module, finding)[:_TRIED]:
        edits = _copied(module, assign, fact, after, finding)
        if edits:
            yield Fix(f"copy its tensors on line {module.start(assign).line}", False, tuple(edits))


def _bindings(module: Module, finding: Finding) -> list[cst.Assign]:
    """The assignments to a variable that is read where the stale value is, or that the function writes to."""
    written = {
        module.code(root)
        for _, target in writing_statements(module, finding.place)
        for root in (root_of(viewed_root(target)),)
    }
    lines = {related.place.line for related in finding.related}
    read = {module.code(node) for node in _paths(module) if module.start(node).line in lines}
    argument = RULES[finding.code].kind == "argument"
    names = written if argument else read
    wanted = (names | _looped_over(module, names)) - (set() if argument else written)
    found = [assign for assign in module.of(cst.Assign) if len(assign.targets) == 1]
    return [
        assign
        for assign in found
        if module.code(target := assign.targets[0].target) in wanted
        and is_path(target)
        and not follows(module, assign.value, finding)
        and (not argument or _in_same(module, assign, finding))
    ]


def _paths(module: Module) -> Iterator[cst.BaseExpression]:
    yield from module.of(cst.Name)
    yield from module.of(cst.Attribute)


def _looped_over(module: Module, names: set[str]) -> set[str]:
    """The names in what loops go over whose elements have one of these names: ``for t, g in zip(total, grads)``."""
    loops: list[cst.For | cst.CompFor] = [*module.of(cst.For), *module.of(cst.CompFor)]
    return {
        module.code(node)
        for loop in loops
        if any(isinstance(node, cst.Name) and node.value in names for node in walk(loop.target))
        for node in walk(loop.iter)
        if isinstance(node, (cst.Name, cst.Attribute))
    }


def _in_same(module: Module, assign: cst.Assign, finding: Finding) -> bool:
    """Whether the variable that is written to is bound in the function that writes."""
    function = module.around(assign, cst.FunctionDef)
    return function is not None and module.spans(function, finding.place) and module.start(assign) < finding.place


def _copied(
    module: Module,
    assign: cst.Assign,
    fact: Fact | None,
    after: Callable[[Sequence[Edit]], Sequence[Finding] | None],
    finding: Finding,
) -> list[Edit]:
    """The edits that copy what is bound; none where it is not certain to be a container of tensors."""
    value, target = assign.value, assign.targets[0].target
    inner, made = _shallow(value), last_name(value.func) if isinstance(value, cst.Call) else ""
    if inner is not None and last_name(inner.func if isinstance(inner, cst.Call) else inner) == "parameters":
        values = made == "list" and _only_compared(module, target)
        return [module.replaced(value, f"[p.detach().clone() for p in {module.code(inner)}]")] if values else []
    kinds = fact.kinds.get(module.code(target), set()) if fact is not None else set()
    source = inner if inner is not None else value if _is_kept(value) else None
    if source is None:
        return []
    if (kinds == {"dict"} or _is_copy(value)) and not (fact is not None and fact.of_graph):
        kept = source if is_path(source) or isinstance(source, cst.Subscript) else value
        copying, needed = deep_copying(module)
        return [*needed, module.replaced(value, f"{copying}({module.code(kept)})")]
    if kinds != {"list"} and not (made == "list" and not kinds):
        return []
    each = scope_around(module, assign).unused(_ITEM)
    copies, aliases = (
        module.replaced(value, f"[{each}{suffix} for {each} in {module.code(source)}]") for suffix in (_COPY, _ALIAS)
    )
    left = after((aliases,))
    stays = left is not None and any(
        other.code == finding.code and other.place.line == finding.place.line for other in left
    )
    return [copies] if stays else []


def _only_compared(module: Module, target: cst.BaseExpression) -> bool:
    """Whether a list of parameters is kept for their values: nobody asks for a gradient, or hands the list on."""
    uses = [node for node in _paths(module) if node is not target and module.code(node) == module.code(target)]
    uses = [node for node in uses if not isinstance(module.parents[node], cst.AssignTarget)]
    return all(_is_iterated(module, use) for use in uses)


def _is_iterated(module: Module, use: cst.CSTNode) -> bool:
    """Whether a loop goes over a list, beside others perhaps, and does nothing but compute with the elements."""
    parent = module.parents[use]
    if isinstance(parent, cst.Arg) and isinstance(call := module.parents[parent], cst.Call):
        if last_name(call.func) not in ("zip", "enumerate"):
            return False
        place = [argument.value for argument in call.args].index(parent.value)
        use, parent = call, module.parents[call]
    else:
        place = -1
    if not isinstance(parent, (cst.For, cst.CompFor)) or parent.iter is not use:
        return isinstance(parent, cst.Subscript) and not isinstance(module.parents[parent], cst.AssignTarget)
    target: cst.BaseExpression = parent.target
    if place >= 0 and isinstance(target, cst.Tuple) and place < len(target.elements):
        target = target.elements[place].value
    names = {node.value for node in walk(target) if isinstance(node, cst.Name)}
    around = module.parents[parent] if isinstance(parent, cst.CompFor) else parent
    return not any(
        isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value in names
        and (node.attr.value in _OWN or node.attr.value.endswith("_"))
        for node in walk(around)
    )


def _shallow(value: cst.BaseExpression) -> cst.BaseExpression | None:
    """The container that ``list(x)``, ``x[:]``, ``x.copy()`` or ``copy.copy(x)`` copies without its elements."""
    given = value.args if isinstance(value, cst.Call) else ()
    if isinstance(value, cst.Call) and len(given) == 1 and (last_name(value.func) in _SHALLOW or _is_copy(value)):
        return given[0].value if not given[0].star else None
    if isinstance(value, cst.Call) and not given and isinstance(value.func, cst.Attribute):
        return value.func.value if value.func.attr.value == "copy" else None
    if isinstance(value, cst.Subscript) and len(value.slice) == 1:
        part = value.slice[0].slice
        return value.value if isinstance(part, cst.Slice) and part.lower is part.upper is part.step is None else None
    return None


def _is_copy(value: cst.BaseExpression) -> bool:
    """``copy.copy(x)``, and not ``x.copy()``."""
    return isinstance(value, cst.Call) and last_name(value.func) == "copy" and len(value.args) == 1


def _is_kept(value: cst.BaseExpression) -> bool:
    """``states[0]``, ``batch``: a container itself."""
    return is_path(value) or (isinstance(value, cst.Subscript) and stripped(value)[0] is value)
