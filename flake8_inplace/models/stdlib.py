"""Containers, records, copies and operators of Python's standard library."""

from __future__ import annotations

import math

from ..heap.state import variables
from ..heap.values import NONE, Const, Dict, List, Object, Ref, Tensor, Tuple, Value, constant
from ..program.lazy import absolute
from ..program.site import Site
from ..trace.callables import Getter, MethodCaller
from ..trace.frames import Class
from ..trace.text import MAIN
from ..trace.trace import Trace
from . import arithmetic, classes, containers, indexing, iteration, lineage, records
from .registry import CONSTANTS, Call, builtin, model, package

CONSTANTS.update(
    {
        f"{module}.{name}": Const(number)
        for module in ("math", "numpy", "torch")
        for name, number in {"e": math.e, "inf": math.inf, "nan": math.nan, "pi": math.pi, "tau": math.tau}.items()
    }
)


@model("builtins.dict", "collections.OrderedDict")
def _dictionary(call: Call) -> Value:
    return records.dictionary(call.m, call.args, call.kwargs)


@model("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys")
def _from_keys(call: Call) -> Value | None:
    if not call.args:
        return None
    made, keys = Dict(), iteration.elements(call.m, call.args[0])[0]
    value = call.argument(1)
    if len(keys) > 1 and not call.m.grad(value):
        value = arithmetic.one_of_many(call.m, value, call.site)
    for key in keys:
        containers.set_item(call.m, made, key, value)
    return made


@model("collections.defaultdict")
def _defaultdict(call: Call) -> Value | None:
    if not call.args:
        return None
    made = records.dictionary(call.m, call.args[1:], call.kwargs)
    made.factory = call.seen(0)
    return made


@model("collections.deque")
def _deque(call: Call) -> Value:
    return List(*iteration.elements(call.m, call.args[0])) if call.args else List()


@model("heapq.heappush", "heapq.heappop", "heapq.heappushpop", "heapq.heapreplace", "heapq.heapify")
def _heap(call: Call) -> Value | None:
    """A heap keeps the elements of a list. Which of them is the smallest is not known: the first one stands for it."""
    heap, first = call.seen(0), call.name in ("heapq.heappop", "heapq.heapreplace")
    if not isinstance(heap, List):
        return None
    taken = containers.pop(call.m, heap, 0) if first else NONE
    if len(call.args) > 1:
        containers.append(call.m, heap, call.args[1])
    return containers.pop(call.m, heap, 0) if call.name == "heapq.heappushpop" else taken


@model("heapq.nlargest", "heapq.nsmallest")
def _best(call: Call) -> Value | None:
    if len(call.args) < 2:
        return None
    return List(iteration.collected(call.m, call.args[1])[0], open=True)


@model("collections.namedtuple", "typing.NamedTuple")
def _named_tuple(call: Call) -> Value | None:
    if len(call.args) < 2:
        return None
    name, site = str(constant(call.args[0])), call.site
    fields = _names(call.m, call.args[1])
    return Class(name, site.expression, site.piece, (lineage.NAMED_TUPLE,), variables(), fields, True)


def _names(m: Trace, value: Value) -> tuple[str, ...]:
    """The field names that ``namedtuple`` is given: a string, a list of strings, or of pairs."""
    text = constant(m.see(value))
    if isinstance(text, str):
        return tuple(text.replace(",", " ").split())
    seen = m.see(value)
    items = iteration.elements_all(m, seen)[0] if isinstance(seen, (List, Tuple)) else ()
    firsts = (item.items[0] if isinstance(item, Tuple) and item.items else item for item in map(m.see, items))
    return tuple(str(constant(m.see(first))) for first in firsts)


@model("types.SimpleNamespace", "argparse.Namespace")
def _namespace(call: Call) -> Value:
    return Object(Ref(call.name), call.kwargs)


@builtin("object.__setattr__")
def _set_attribute(call: Call) -> Value | None:
    if len(call.args) != 3 or not isinstance(owner := call.seen(0), Object):
        return None
    if isinstance(name := constant(call.args[1]), str):
        classes.set_attribute(call.m, owner, name, call.args[2], call.site)
    return NONE


@model("copy.copy")
def _copy(call: Call) -> Value | None:
    return records.shallow(call.m, call.args[0]) if call.args else None


@model("copy.deepcopy")
def _deepcopy(call: Call) -> Value | None:
    return records.copied(call.m, call.args[0], {}) if call.args else None


@model("dataclasses.field")
def _field(call: Call) -> Value:
    return Object(lineage.FIELD, call.kwargs)


@model("dataclasses.asdict")
def _as_dict(call: Call) -> Value | None:
    given = call.seen(0)
    return Dict(call.m.state.get(given).items) if isinstance(given, Object) else None


@model("dataclasses.replace")
def _replace(call: Call) -> Value | None:
    return records.replaced(call.m, call.args[0], call.kwargs) if call.args else None


@model("enum.auto")
def _auto(call: Call) -> Value:
    return Const(f"member {call.m.tick()}")  # another one each time


@package("operator")
def _operator(call: Call) -> Value | None:
    """A function of ``operator`` that takes two operands."""
    if len(call.args) != 2:
        return None
    plain, (left, right) = call.name.removeprefix("operator.").strip("_"), call.args
    if plain in arithmetic.BINARY:
        return arithmetic.operator(call.m, plain, left, right, call.site)
    if plain[:1] == "i" and plain[1:] in arithmetic.BINARY:
        return arithmetic.augment(call.m, plain[1:], left, right, call.site, "op_")
    return None


@model("operator.methodcaller")
def _method_caller(call: Call) -> Value | None:
    name = getattr(call.seen(0), "value", None)
    return MethodCaller(name, tuple(call.args[1:]), call.kwargs) if isinstance(name, str) else None


@model("operator.itemgetter", "operator.attrgetter")
def _getter(call: Call) -> Value:
    return Getter(tuple(call.args), call.name == "operator.attrgetter")


def got(m: Trace, getter: Getter, owner: Value, site: Site) -> Value:
    """What ``operator.itemgetter`` or ``attrgetter`` takes out: one value, or a tuple of several."""
    found: list[Value] = []
    for name in getter.names:
        value, path = m.see(owner), constant(m.see(name))
        if isinstance(path, str) and getter.attributes:
            for each in path.split("."):
                value = m.attribute(value, each, site)
        elif isinstance(value, Tensor):
            value = indexing.subscript(m, value, m.see(name), site)
        else:
            value = containers.get_item(m, value, m.see(name))
        found.append(value)
    return found[0] if len(found) == 1 else Tuple(tuple(found))


@model("importlib.import_module")
def _import_module(call: Call) -> Value | None:
    name, package = constant(call.seen(0)), constant(call.m.see(call.argument(1, "package")))
    if not isinstance(name, str):
        return None
    if isinstance(package, str) and package != MAIN:
        name = absolute(name, package)
    return call.m.find_module(name.removeprefix(MAIN), call.site.piece.path)
