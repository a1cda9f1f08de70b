"""What calling a value does: which model, or which facts, a call goes to."""

from __future__ import annotations

from dataclasses import replace

from ..heap.values import (
    NONE,
    Array,
    CellState,
    Const,
    Dict,
    Grad,
    List,
    Node,
    Object,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)
from ..program.operands import called_name
from ..program.pieces import SUBCLASSES
from ..program.site import Site
from ..torchfacts import ops as facts
from ..torchfacts.arrays import READING
from ..trace import events, holdings
from ..trace.callables import (
    Autocast,
    Bound,
    Dispatch,
    Getter,
    GradMode,
    Method,
    MethodCaller,
    Partial,
    Super,
    Transform,
)
from ..trace.frames import Class, Function
from ..trace.trace import Trace
from . import (
    amp,
    arrays,
    autograd,
    builtins,
    checkpoint,
    classes,
    dicts,
    distributions,
    generic,
    handed,
    higher,
    instances,
    iterators,
    launchers,
    lazy,
    linalg,
    lineage,
    lists,
    methods,
    nn,
    numpy,
    operators,
    overloads,
    parametrizations,
    patterns,
    progress,
    reflection,
    stdlib,
    strings,
    tensors,
    transforms,
    typed,
    unknowns,
)
from .registry import Call, call_model, call_package, package

FUNCTIONS = (
    *(amp, autograd, builtins, checkpoint, distributions, generic, handed, higher, iterators, launchers, linalg),
    *(nn, numpy, parametrizations, patterns, progress, reflection, stdlib, transforms, typed),
)
"""The modules that register models of functions and classes; those of methods are imported where they are called."""
_ASKING = (*(Ref(f"builtins.{name}") for name in ("enumerate", "iter", "next", "zip")), *map(Ref, progress.BARS))
"""Functions that leave it to their models how much of an iterator they read."""


def call(m: Trace, callee: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call any value."""
    m.budget.call()
    callee = m.see(callee)
    if m.state[lazy.UNREAD] and not isinstance(callee, (Function, Bound, Class)) and callee not in _ASKING:
        lazy.read(m, *args, *kwargs.values())
    if isinstance(callee, Unknown) and callee.default is not None:
        callee = m.see(callee.default)
    match callee:
        case Function():
            return m.run(callee, args, kwargs, site)
        case Bound():
            return m.run(callee.function, [callee.receiver, *args], kwargs, site)
        case Method():
            return call_method(m, callee, args, kwargs, site)
        case Class():
            return _instantiate(m, callee, args, kwargs, site)
        case Partial():
            return call(m, callee.function, [*callee.args, *args], {**callee.kwargs, **kwargs}, site)
        case Dispatch():
            return generic.call_generic(Call(m, "", args, kwargs, site), callee)
        case MethodCaller() if args:
            bound = _method_of(m, m.promote(args[0]), callee.name, site)
            return call(m, bound, list(callee.args), callee.kwargs, site)
        case Getter() if args:
            return stdlib.got(m, callee, args[0], site)
        case Transform():
            return transforms.transformed(callee, Call(m, "", args, kwargs, site))
        case Ref():
            given = Call(m, callee.name, args, kwargs, site)
            return _possibly(call_ref(given), given)
        case Object():
            return instances.call_object(Call(m, "__call__", args, kwargs, site), callee)
        case Tensor() | Const() | Tuple() | List() | Dict():
            return Unknown()
    if hasattr(callee, "options"):
        return m.split([callee], lambda options: call(m, options[0], args, kwargs, site))
    if isinstance(callee, (GradMode, Autocast)):
        return _decorate(callee, m.see(args[0])) if args else callee
    if isinstance(callee, Unknown) and callee.scalar:
        return Unknown(scalar=True)
    given = Call(m, "", args, kwargs, site)
    handed.may_call(given)
    return _possibly(unknowns.unknown_module(given, callee), given)


def _instantiate(m: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Make an instance of a class of the program. If it is a dataset or sequence, its items may be asked for again."""
    made = classes.instantiate(m, cls, args, kwargs, site)
    getter = lineage.member(cls, "__getitem__")
    if isinstance(getter, Function) and (lineage.is_dataset(cls) or lineage.is_sequence(cls)):
        events.dataset(m, getter, made, NONE, lineage.is_dataset(cls), site)
    return made


def _decorate(mode: GradMode | Autocast, decorated: Value) -> Value:
    """Return a function that runs in a mode; anything else as it is."""
    if not isinstance(decorated, Function):
        return decorated
    if isinstance(mode, Autocast):
        return replace(decorated, autocast=mode)
    return replace(decorated, grad=mode.on, inference=bool(mode.inference))


def _method_of(m: Trace, owner: Value, name: str, site: Site) -> Value:
    return classes.attribute(m, owner, name, site) if isinstance(owner, Object) else Method(owner, name, site.node)


def _possibly(result: Value, call: Call) -> Value:
    """What code that this file does not show may have done with its arguments, for whoever wants to know."""
    m, site = call.m, call.site
    if "possible" not in m.extra or not isinstance(result, Unknown) or result.scalar:
        return result
    given = [tensor for arg in call.values for tensor in holdings.tensors_in(m, arg)]
    if given and _asks_for_in_place(call):
        events.write(m, given[0].storage, "possible", site)
        return result
    saves = tuple(operators.keep(m, "this call", "argument", t.storage, site, True) for t in given if m.grad(t))
    if saves and m.grad_mode:
        result.node = Node("call", saves, (result.node,) if result.node is not None else ())
    return result


def _asks_for_in_place(call: Call) -> bool:
    """Whether a call of unknown code looks as if it overwrote its argument."""
    return constant(call.kwargs.get("inplace", NONE)) is True or called_name(call.site.expression).endswith("_")


def _fill(call: Call) -> None:
    """Overwrite the buffer that a file or socket is given, if an array or tensor lies over it."""
    memory = arrays.known(call.m, call.args[0])
    if memory is not None:
        arrays.write(call.m, memory, "out", call.site, "copy_", Unknown())


def call_method(m: Trace, bound: Method, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call a method that the file does not define."""
    receiver, given = m.see(bound.receiver), Call(m, bound.name, args, kwargs, site)
    if bound.name in READING and args and not isinstance(receiver, (Tensor, Array)):
        _fill(given)
    match receiver:
        case Tensor():
            if bound.name == "register_hook":
                autograd.register_hook(m, receiver, args, site)
            return methods.method(m, receiver, bound.name, args, kwargs, site)
        case List():
            return lists.list_method(given, receiver)
        case Dict():
            return dicts.dict_method(given, receiver)
        case Object():
            return instances.object_method(given, receiver)
        case Super():
            return instances.super_method(given, receiver)
        case Class() if bound.name == SUBCLASSES:
            return m.subclasses(receiver)
        case Unknown(default=Const(str() as text)):
            return strings.option_method(given, receiver, text)
        case Unknown() if not receiver.scalar:
            return unknowns.unknown_method(given, receiver)
        case Array():
            return numpy.array_method(given, receiver)
        case Const(str() as text):
            return strings.string_method(given, text)
        case Unknown():
            return numpy.method_of_number(given, receiver)
        case Const():
            return Unknown(scalar=True)
    if hasattr(receiver, "options"):
        return m.split([receiver], lambda v: call_method(m, Method(v[0], bound.name, bound.node), args, kwargs, site))
    return tensors.unknown_call(m, receiver, *given.values)


@package("torch.Tensor")
def _tensor_method(call: Call) -> Value | None:
    """``torch.Tensor.add_(x, y)``."""
    if not call.args:
        return None
    name = call.name.removeprefix("torch.Tensor.")
    bound = Method(call.m.promote(call.args[0]), name, call.site.node)
    return call_method(call.m, bound, call.args[1:], call.kwargs, call.site)


def call_ref(call: Call) -> Value:
    """Call something imported or built in: by its model, the facts, or the model of its package."""
    for way in (call_model, _build, _by_facts, call_package):
        made = way(call)
        if made is not None:
            return made
    return _unknown(call)


_LATER = ("builtins.", "torch.", "signal.", "atexit.", "argparse.")
"""Packages whose functions call nothing that they are given, or do so at another time."""


def _build(call: Call) -> Value | None:
    return nn.build(call.m, call.name, call.args, call.kwargs)


def _by_facts(call: Call) -> Value | None:
    m, ops = call.m, facts.lookup(call.name)
    if not ops:
        return None
    enabled = m.grad_mode
    m.state.set(m.state.modes, "grad", enabled and not call.name.startswith("torch.nn.init."))  # which switches it off
    result = overloads.apply(m, ops, call.args, call.kwargs, call.site)
    m.state.set(m.state.modes, "grad", enabled)
    return result


def _unknown(call: Call) -> Value:
    """Call something of which only the name is known."""
    m, args = call.m, call.args
    last = call.name.rpartition(".")[2]
    if not (last[:1].isupper() or call.name.startswith(_LATER)):
        handed.may_call(call)
    if last[:1].isupper() and not any(isinstance(m.see(a), Tensor) for a in args):
        events.hand_over(m, call.values)
        return Object(lineage.STRANGER, {f"init.{key}": value for key, value in call.kwargs.items()})
    if m.stack.is_statement(call.site) and not call.name.startswith("torch."):
        for module in [arg for arg in map(m.see, args) if isinstance(arg, Object) and lineage.is_module(arg.cls)]:
            for tensor in holdings.parameters(m, module):  # which it may freeze, or put others in their place
                m.state.put(tensor.cell, CellState(Grad.MAYBE, None, m.cell(tensor).leaf))
    return tensors.unknown_call(m, *call.values)
