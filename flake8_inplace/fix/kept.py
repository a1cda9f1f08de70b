"""Values that are kept and overwritten later: a copy where each of them is put into a list, a dictionary or an object.

``[p.data for p in net.parameters()]`` becomes ``[p.data.clone() for p in net.parameters()]``. The finding names the
write and the read, not the place between them. So all places that may be it are copied, and then as few as suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from ..finding import Edit, Finding, Fix, Place
from ..rules import RULES
from ..torchfacts import ops
from .statements import deep_copying
from .syntax import GATHER, Module, is_library, is_method, is_path, last_name, stripped, walk

_TRIED = 12
"""How many places are copied at once, at most. Each of them may cost two analyses."""
_CONTAINERS = frozenset({"list", "tuple", "dict", "deque", "OrderedDict"})
_PARAMETERS = frozenset({"parameters", "named_parameters"})

#: Endings that copy, each with one that hands on the same memory: with that the finding has to stay as it is.
_TENSOR, _PARAMETER, _ARRAY = (".clone()", ".detach()"), (".detach().clone()", ".detach()"), (".copy()", ".to_numpy()")
_Part = tuple[cst.BaseExpression, tuple[str, str]]


def kept(
    module: Module,
    finding: Finding,
    after: Callable[[Sequence[Edit]], Sequence[Finding] | None],
    diverts: Callable[[Sequence[Edit]], bool],
) -> Iterator[Fix]:
    """A copy at the places that keep what is overwritten.

    ``diverts`` says whether the write then goes to a copy: whoever else has the tensor would not get the new values.
    """

    def stays(copied: Sequence[_Part], shared: Sequence[_Part] = ()) -> bool:
        left = after((*_edits(module, copied, 0), *_edits(module, shared, 1)))
        return left is not None and any(
            other.code == finding.code and other.place.line == finding.place.line for other in left
        )

    def enough(parts: Sequence[_Part]) -> bool:
        return bool(parts) and not stays(parts)

    def proven(part: _Part, rest: Sequence[_Part]) -> Iterator[_Part]:
        """The part as a tensor or else as an array, if the finding hangs on its memory once the rest is copied."""
        ways = (part, (part[0], _ARRAY))
        yield from [way for way in ways if stays(rest, [way])][:1]

    for nodes in _choices(module, finding):
        parts = [(node, _ending(module, node)) for node in nodes]
        if len(parts) > _TRIED or not enough(parts):
            continue
        if not stays((), parts):  # what is no tensor loses its memory in the analysis either way
            parts = [found for part in parts for found in proven(part, ())]
        if not enough(parts):
            continue
        needed = _fewest(parts, enough)
        needed = [found for part in needed for found in proven(part, [each for each in needed if each is not part])]
        if enough(needed) and not diverts(_edits(module, needed, 0)):
            lines = " and ".join(dict.fromkeys(str(module.start(node).line) for node, _ in needed))
            yield Fix(f"copy it where it is kept, on line {lines}", False, _edits(module, needed, 0))
            return


def deep_copies(module: Module) -> Iterator[Fix]:
    """``model.state_dict()`` or ``copy.copy(model)`` that is kept: the finding stands at what overwrites it."""
    copying, needed = deep_copying(module)
    calls = list(module.of(cst.Call))
    for call in calls:
        if module.code(call.func) in ("copy.copy", "copy") and len(call.args) == 1:
            edit = module.replaced(call.func, copying)
            yield Fix(f"make a deep copy on line {edit.start.line}", True, (*needed, edit))
    for call in calls:
        if last_name(call.func) == "state_dict":
            edit = module.replaced(call, f"{copying}({module.code(call)})")
            yield Fix(f"keep a deep copy on line {edit.start.line}", True, (*needed, edit))


def _choices(module: Module, finding: Finding) -> Iterator[Sequence[cst.BaseExpression]]:
    """The places to copy: those under a name that is read where the stale value is, and then any.

    What is written by a name was mostly not kept by it: ``self.x = x`` in the constructor of what updates ``self.x``.
    Of an array over a saved tensor it is where the array gets the name under which it is written to.
    """
    read = {related.place.line for related in finding.related}
    names = {_word(node) for node in module.of(cst.Name) if module.start(node).line in read}
    written = {_word(node) for node in module.of(cst.Name) if module.start(node).line == finding.line}
    places = [node for node in _kept(module) if _is_alias(node) and not follows(module, node, finding)]
    if RULES[finding.code].kind == "numpy":
        yield [node for node in places if written & _targets(module, node)]
        return
    by_name = [node for node in places if names & _targets(module, node)]
    yield [node for node in by_name if not written & _targets(module, node)]
    yield by_name
    yield [node for node in places if not written & _targets(module, node)]


def follows(module: Module, node: cst.BaseExpression, finding: Finding) -> bool:
    """Whether a value is bound behind the write only, in its function and in no loop around both."""
    function, start, place = module.around(node, cst.FunctionDef), module.start(node), finding.place
    if start <= place or (function is not None and not _inside(module, function, place)):
        return False
    if function is not None and not (_targets(module, node) & {name.value for name in _bound(function)}):
        return False  # kept beyond the call, and there may be another
    return not any(
        isinstance(loop, (cst.For, cst.While)) and _inside(module, loop, place) for loop in module.above(node)
    )


def _inside(module: Module, node: cst.CSTNode, place: Place) -> bool:
    return module.start(node) <= place < module.end(node)


def _bound(function: cst.FunctionDef) -> Iterator[cst.Name]:
    """The local variables of a function, as far as they are assigned to by themselves."""
    for assign in walk(function):
        if isinstance(assign, cst.Assign):
            yield from (target.target for target in assign.targets if isinstance(target.target, cst.Name))


def _targets(module: Module, node: cst.BaseExpression) -> set[str]:
    """The names of what a value is bound to or put into: ``old`` of ``old = [p.data for p in ps]``."""
    for parent in module.above(node):
        if isinstance(parent, cst.Assign):
            return {_word(part) for target in parent.targets for part in walk(target.target)}
        if isinstance(parent, cst.Call) and last_name(parent.func) in GATHER:
            return {_word(part) for part in walk(parent.func)}
        if isinstance(parent, cst.BaseStatement):
            break
    return set()


def _word(node: cst.CSTNode) -> str:
    return node.value if isinstance(node, cst.Name) else ""


def _fewest(parts: Sequence[_Part], enough: Callable[[Sequence[_Part]], bool]) -> Sequence[_Part]:
    """Those of some parts that are needed. The first ones are kept: the stale value was bound before the other."""
    for part in reversed(parts):
        rest = [other for other in parts if other is not part]
        parts = rest if enough(rest) else parts
    return parts


def _kept(module: Module) -> Iterator[cst.BaseExpression]:
    """The expressions whose values get a name, or a place in something else."""
    for node in module.nodes:
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            yield node.elt
        elif isinstance(node, (cst.DictComp, cst.DictElement)):
            yield node.value
        elif isinstance(node, cst.Call) and last_name(node.func) in GATHER and node.args:
            yield node.args[-1].value
        elif isinstance(node, cst.Return):
            yield from [node.value] if node.value is not None else []
        elif isinstance(node, cst.Assign) or (isinstance(node, cst.Element) and _is_put(module, node)):
            yield node.value


def _is_put(module: Module, element: cst.Element) -> bool:
    """Whether a list keeps an element. One that a call is given doesn't: ``Adam([w])`` is to update ``w`` itself."""
    argument = module.parents[module.parents[element]]
    call = module.parents[argument] if isinstance(argument, cst.Arg) else None
    given = isinstance(call, cst.Call) and last_name(call.func) not in _CONTAINERS
    return not given and not _is_target(module, element)


def _is_target(module: Module, element: cst.Element) -> bool:
    """Inside of ``a, b = ...`` or ``for a, b in ...``."""
    node: cst.CSTNode = element
    for parent in module.above(element):
        if not isinstance(parent, (cst.Tuple, cst.List, cst.Element)):
            return isinstance(parent, cst.AssignTarget) or (
                isinstance(parent, (cst.For, cst.CompFor)) and parent.target is node
            )
        node = parent
    return False


def _is_alias(node: cst.BaseExpression) -> bool:
    """``p``, ``p.grad``, ``h[0]``, ``w.detach()``, ``w.cpu().numpy()``: what may show memory that has a name."""
    while not is_path(node):
        inner = stripped(node)[0]
        if inner is not node:
            node = inner
        elif isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and is_method(node):
            known = ops.lookup(f"Tensor.{last_name(node.func)}")
            if any(out.kind == "fresh" for op in known for out in op.outs) or not (known or _makes_array(node)):
                return False
            node = node.func.value
        elif isinstance(node, cst.Call) and _makes_array(node) and node.args:
            node = node.args[0].value
        else:
            return False
    return True


def _makes_array(node: cst.BaseExpression) -> bool:
    """``x.numpy()``, ``np.asarray(x)``; not ``torch.asarray(x)``, which makes a tensor."""
    if not isinstance(node, cst.Call) or is_library(node.func):
        return False
    return last_name(node.func) == "asarray" or (last_name(node.func) == "numpy" and is_method(node))


def _ending(module: Module, node: cst.BaseExpression) -> tuple[str, str]:
    """How a copy of a tensor is made: a parameter that is kept as it is stays a constant, outside of the graph."""
    loop = next((parent for parent in module.above(node) if isinstance(parent, cst.BaseComp)), None)
    iterable = loop.for_in.iter if loop is not None else None
    whole = isinstance(node, cst.Name) and isinstance(iterable, cst.Call) and last_name(iterable.func) in _PARAMETERS
    return _PARAMETER if whole else _TENSOR


def _edits(module: Module, parts: Sequence[_Part], ending: int) -> tuple[Edit, ...]:
    ends = {module.end(node): endings[ending] for node, endings in parts}
    return tuple(Edit(end, end, text) for end, text in sorted(ends.items()))
