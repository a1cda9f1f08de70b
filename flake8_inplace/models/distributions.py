"""torch.distributions: a sample has no history; ``rsample``, ``log_prob`` and ``entropy`` save parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..heap.values import NONE, Object, Ref, Value, is_number
from ..torchfacts import distributions as facts
from . import overloads, tensors
from .registry import Call, Method, call_method, method, model

PACKAGE = "torch.distributions."
_Model = TypeVar("_Model", bound=Method)
_GIVEN = "given."
"""Begins the attribute with a parameter as it was given. ``d.logits`` and others are normalised or broadcast."""
_MODULES = {
    "StudentT": "studentT",
    "HalfNormal": "half_normal",
    "LogNormal": "log_normal",
    "OneHotCategorical": "one_hot_categorical",
}
_CLASSES = {
    f"{PACKAGE}{prefix}{name}": name
    for name in facts.distributions()
    for prefix in ("", f"{_MODULES.get(name, name.lower())}.")
}
_INDEPENDENT = ("torch.distributions.Independent", "torch.distributions.independent.Independent")


@model(*_CLASSES)
def _make(call: Call) -> Value:
    names = facts.parameters(_CLASSES[call.name])
    return Object(Ref(call.name), {_GIVEN + name: call.argument(place, name) for place, name in enumerate(names)})


@model(*_INDEPENDENT)
def _independent(call: Call) -> Value | None:
    return Object(Ref(_INDEPENDENT[0]), {"base_dist": call.args[0]}) if call.args else None


def _methods(*names: str) -> Callable[[_Model], _Model]:
    """Register a function as the model of these methods of all distributions."""

    def register(function: _Model) -> _Model:
        for cls in (*_CLASSES, _INDEPENDENT[0]):
            method(cls, *names)(function)
        return function

    return register


@_methods("sample", "sample_n")
def _sample(call: Call, instance: Object) -> Value:
    return tensors.fresh()


@_methods("rsample", "log_prob", "entropy")
def _differentiable(call: Call, instance: Object) -> Value | None:
    """A method that autograd records. What it saves, it saves when it is called."""
    m, contents = call.m, call.m.state.get(instance).items
    inner = m.see(contents.get("base_dist", NONE))
    if isinstance(inner, Object) and isinstance(inner.cls, Ref) and is_distribution(inner.cls):
        return call_method(call, inner, inner.cls.name)
    name = _CLASSES.get(instance.cls.name, "") if isinstance(instance.cls, Ref) else ""
    op = facts.distributions().get(name, {}).get(call.name)
    if op is None:
        return None
    given = {key: m.see(contents.get(_GIVEN + key, NONE)) for key in facts.parameters(name)}
    if call.name == "log_prob":
        given["value"] = call.seen(0) if call.args else m.see(call.kwargs.get("value", NONE))
    operands = {key: value for key, value in given.items() if value != NONE and not is_number(value)}
    return overloads.apply(m, (op,), [], operands, call.site)


def is_distribution(cls: Value) -> bool:
    """Whether a class is a distribution that there is a model for."""
    return isinstance(cls, Ref) and (cls.name in _CLASSES or cls.name in _INDEPENDENT)
