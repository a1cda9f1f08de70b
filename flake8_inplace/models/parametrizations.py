"""Parametrizations: what makes a parameter of a module anew, each time that it is used."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ..heap.state import Declared, same_or_none
from ..heap.values import (
    ITEMS,
    NONE,
    Attributes,
    Cell,
    Const,
    Dict,
    Grad,
    List,
    Node,
    Object,
    Ref,
    Tensor,
    Tuple,
    Value,
    constant,
)
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import holdings
from ..trace.callables import Caching
from ..trace.trace import Trace
from . import overloads, tensors
from .registry import Call, model

_UTILS = "torch.nn.utils."
_LIST = Ref(f"{_UTILS}parametrize.ParametrizationList")
_BY_ATTRIBUTE, _BY_HOOK = "parametrizations", "remade"
"""Where a module has its parametrizations: for all to see, or those that a hook before its forward runs."""
MADE: Declared[Object, tuple[int, Value] | None] = Declared(same_or_none)
"""What a parametrization made inside ``cached()``, and which."""


def made(m: Trace, contents: Mapping[Hashable, Value], name: str, site: Site) -> Value | None:
    """Return what the parametrizations of a parameter make of it; None if it has none."""
    entry = _entry(m, contents, name, _BY_ATTRIBUTE) or _entry(m, contents, name, _BY_HOOK)
    if entry is None:
        return None
    caching, kept = m.state.modes.get("caching"), m.state[MADE].get(entry)
    if kept is not None and kept[0] == caching:
        return kept[1]
    values = _originals(m, entry)
    for step in _steps(m, entry):
        step = m.see(step)
        built_in = _BUILT_IN.get(step.name) if isinstance(step, Ref) else None
        values = [built_in(m, values, site) if built_in is not None else m.call(step, values, {}, site)]
    if type(caching) is int:
        m.state.set(m.state[MADE], entry, (caching, values[0]))
    return values[0]


def _entry(m: Trace, contents: Mapping[Hashable, Value], name: str, where: str) -> Object | None:
    if where not in contents or not isinstance(all_of := m.see(contents[where]), Object):
        return None
    entry = m.see(m.state.get(all_of).items.get(name, NONE))
    return entry if isinstance(entry, Object) and entry.cls == _LIST else None


def _originals(m: Trace, entry: Object) -> list[Value]:
    return [value for key, value in m.state.get(entry).items.items() if key != ITEMS]


def _steps(m: Trace, entry: Object) -> list[Value]:
    steps = m.see(m.state.get(entry).items[ITEMS])
    return list(m.state.get(steps).items) if isinstance(steps, List) else []


# -- how they are made


def _weight_norm(m: Trace, values: list[Value], site: Site) -> Value:
    result = m.see(overloads.apply(m, facts.lookup(_WEIGHT_NORM), values[::-1], {}, site))
    return result.items[0] if isinstance(result, Tuple) else result


_WEIGHT_NORM = "torch.ops.aten._weight_norm_interface"


def _spectral_norm(m: Trace, values: list[Value], site: Site) -> Value:
    """The weight, divided by its largest singular value. The vectors are copied before they are used."""
    largest = overloads.apply(m, facts.lookup("torch.mv"), [values[0], tensors.fresh()], {}, site)
    return overloads.apply(m, facts.lookup("torch.div"), [values[0], largest], {}, site)


def _orthogonal(m: Trace, values: list[Value], site: Site) -> Value:
    """A tensor of the same history. Nothing is saved of the parameter: its triangle is copied first."""
    return _computed(m, values)


def _computed(m: Trace, values: list[Value]) -> Value:
    grad = max((holdings.reach(m, value) for value in values), default=Grad.NO) if m.grad_mode else Grad.NO
    return tensors.fresh(grad, Node("parametrization", (), m.history(*values)) if grad else None, not grad)


_BUILT_IN = {"weight_norm": _weight_norm, "spectral_norm": _spectral_norm, "orthogonal": _orthogonal}
_ATTRIBUTES = {"weight_norm": ("g", "v"), "spectral_norm": ("orig",)}
"""What a hook adds to the name of a parameter for what it makes it of."""


# -- how they are registered


@model(f"{_UTILS}parametrize.register_parametrization")
def _register(call: Call) -> Value:
    module, step = call.m.see(call.argument(0, "module")), call.argument(2, "parametrization")
    if isinstance(module, Object):
        _add(call.m, module, constant(call.argument(1, "tensor_name")), step, _BY_ATTRIBUTE)
    return call.argument(0, "module")


@model(*[f"{_UTILS}{where}{name}" for name in ("weight_norm", "spectral_norm") for where in ("", "parametrizations.")])
@model(f"{_UTILS}parametrizations.orthogonal")
def _reparametrize(call: Call) -> Value:
    """Functions that change how a module makes its weight, and return the module."""
    module = call.m.see(call.argument(0, "module"))
    where, _, name = call.name.removeprefix(_UTILS).rpartition(".")
    if isinstance(module, Object):
        parameter = constant(call.argument(1, "name", Const("weight")))
        _add(call.m, module, parameter, Ref(name), _BY_ATTRIBUTE if where else _BY_HOOK)
    return call.argument(0, "module")


def _add(m: Trace, module: Object, name: object, step: Value, where: str) -> None:
    """Give a parameter of a module one more parametrization."""
    contents = dict(m.state.get(module).items)
    if not isinstance(name, str):
        return
    if (entry := _entry(m, contents, name, where)) is not None:
        _put(m, entry, {**m.state.get(entry).items, ITEMS: List([*_steps(m, entry), step])})
        return
    original = m.see(contents.pop(name, NONE))
    if not isinstance(original, Tensor):
        return  # the parameters of a module of another package are not known
    parts = {"original": original}
    if step == Ref("weight_norm"):
        parts = {"original0": Tensor(cell=Cell(m.grad(original))), "original1": original}
    if where == _BY_HOOK and isinstance(step, Ref):
        contents |= dict(zip((f"{name}_{end}" for end in _ATTRIBUTES[step.name]), parts.values(), strict=True))
        contents[name] = _computed(m, list(parts.values()))
    entry = Object(_LIST, {**parts, ITEMS: List([step])})
    contents[where] = _entries_of(m, contents.get(where, NONE), {name: entry})
    _put(m, module, contents)


def _entries_of(m: Trace, known: Value, more: Mapping[Hashable, Value]) -> Object:
    """The parametrizations of a module, by the names of the parameters; without those that ``more`` has as None."""
    known = m.see(known)
    entries = {**(m.state.get(known).items if isinstance(known, Object) else {}), **more}
    entries = {name: entry for name, entry in entries.items() if name != ITEMS and entry != NONE}
    return Object(Ref("torch.nn.ModuleDict"), {**entries, ITEMS: Dict(entries)})


@model(f"{_UTILS}parametrize.remove_parametrizations", f"{_UTILS}remove_weight_norm", f"{_UTILS}remove_spectral_norm")
def _remove(call: Call) -> Value:
    """The parameter has the values that were made of it, and is one again."""
    m, module, name = call.m, call.seen(0), constant(call.argument(1, "name", Const("weight")))
    contents = dict(m.state.get(module).items) if isinstance(module, Object) else {}
    for where in (_BY_ATTRIBUTE, _BY_HOOK) if isinstance(name, str) else ():
        entry = _entry(m, contents, name, where)
        if entry is not None and isinstance(module, Object):
            *_, contents[name] = _originals(m, entry)
            contents[where] = _entries_of(m, contents[where], {name: NONE})
            _put(m, module, contents)
    return call.argument(0, "module")


def _put(m: Trace, instance: Object, contents: dict[Hashable, Value]) -> None:
    m.state.put(instance, Attributes(contents, m.state.get(instance).open))


@model(f"{_UTILS}parametrize.cached")
def _cached(call: Call) -> Value:
    return Caching()
