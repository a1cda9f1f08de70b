"""Calls of instances: of modules with their hooks, and of what others derive from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ..heap.join import choose
from ..heap.values import ITEMS, NONE, Choice, Grad, List, Object, Ref, Tensor, Tuple, Unknown, Value
from ..program.site import Site
from ..torchfacts import modules as facts
from ..trace import events
from ..trace.callables import Super
from ..trace.frames import Function
from ..trace.trace import Trace
from . import autograd, classes, iteration, lineage, modules, nn, tensors
from .registry import Call
from .unknowns import unknown_module

_SEQUENTIAL = "torch.nn.Sequential"


def call_object(call: Call, instance: Object) -> Value:
    """Call an instance, with the hooks that were registered on it."""
    m, args = call.m, call.args
    events.call_instance(m, instance, call.site)
    contents = m.state.get(instance).items
    for hook in _hooks(m, contents, "hooks.forward_pre"):
        changed = m.see(m.call(hook, [instance, Tuple(tuple(args))], {}, call.site))
        if changed != NONE:
            args = list(changed.items) if isinstance(changed, Tuple) else [changed]
    after, before = (_hooks(m, contents, f"hooks.{kind}") if m.grad_mode else [] for kind in autograd.OF_MODULES)
    if after:
        given, args = args, [tensors.hooked(m, arg) for arg in args]
        for hook in after:
            watched = autograd.hook_of_module("full_backward", instance, hook, given, call.site)
            autograd.watch(m, Tuple(tuple(args)), watched)
    result = _without_hooks(Call(m, call.name, args, call.kwargs, call.site), instance)
    for hook in _hooks(m, contents, "hooks.forward"):
        changed = m.see(m.call(hook, [instance, Tuple(tuple(args)), result], {}, call.site))
        if changed != NONE:
            result = changed
    if not after and not before:
        return result
    seen = tensors.hooked(m, result)
    for hook in before:
        autograd.watch(m, seen, autograd.hook_of_module("full_backward_pre", instance, hook, [result], call.site))
    return seen


def _hooks(m: Trace, contents: Mapping[Hashable, Value], kind: str) -> list[Value]:
    hooks = m.see(contents[kind]) if kind in contents else None
    return list(m.state.get(hooks).items) if isinstance(hooks, List) else []


def _without_hooks(call: Call, instance: Object) -> Value:
    m, args, kwargs = call.m, call.args, call.kwargs
    if instance.cls == lineage.STRANGER:
        if ("parameter", instance) in m.symbols:
            return unknown_module(call, instance)
        result = tensors.unknown_call(m, *call.values, grad=Grad.MAYBE if args else Grad.NO)
        result.likely = any(isinstance(m.see(a), Tensor) for a in args)
        return result
    if isinstance(instance.cls, Ref) and instance.cls.name in lineage.PARALLEL:
        return m.call(m.state.get(instance).items["module"], args, kwargs, call.site)
    own = isinstance(lineage.member(instance.cls, "forward"), Function)
    if lineage.inherits(instance.cls, _SEQUENTIAL) and not own:
        return _sequential(m, instance, args, call.site)
    return nn.call(m, instance, args, kwargs, call.site)


def _sequential(m: Trace, instance: Object, args: list[Value], site: Site) -> Value:
    value = args[0] if args else Unknown()
    for item in iteration.elements(m, m.state.get(instance).items.get(ITEMS, NONE))[0]:
        item = m.see(item)
        result = m.call(item, [value], {}, site)
        if isinstance(item, Choice) and len(item.options) == 1:  # a layer that only some configurations have
            test = item.options[0][0] - m.state.guard()
            without = frozenset((symbol, not truth) for symbol, truth in test)
            result = choose([(test, result), (without, value)]) if len(test) == 1 else result
        value = result
    return value


def object_method(call: Call, instance: Object) -> Value:
    """Call a method that the class of an instance has from PyTorch or Python."""
    if call.name in ("forward", "__call__"):
        return call_object(call, instance)
    return modules.method_of(call, instance)


def super_method(call: Call, value: Super) -> Value:
    """Call a method of a base class that the file does not define."""
    m, receiver = call.m, value.receiver
    if call.name == "__new__" and classes.makes_class(m, value.owner):
        return classes.new_class(call)
    if not isinstance(receiver, Object):
        return tensors.unknown_call(m, *call.values)
    if call.name == "__init__":
        classes.inherit(m, receiver, value.owner, call.args, call.kwargs)
        return NONE
    if call.name not in ("forward", "__call__"):
        return modules.method_of(call, receiver)
    forward = lineage.member(receiver.cls, "forward")
    if call.name == "__call__" and isinstance(forward, Function) and lineage.is_module(receiver.cls):
        return m.run(forward, [receiver, *call.args], call.kwargs, call.site)
    for base in lineage.lineage(value.owner):
        if isinstance(base, Ref):
            if base.name == _SEQUENTIAL:
                return _sequential(m, receiver, call.args, call.site)
            fact = facts.lookup(base.name)
            if fact is not None:
                return nn.call_fact(m, receiver, fact, call.args, call.kwargs, call.site)
    return tensors.unknown_call(m, *call.values, grad=Grad.MAYBE)
