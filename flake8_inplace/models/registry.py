"""The table of models: which function says what a call of PyTorch or Python does.

A model is registered under the full name of what it stands for: ``@model("torch.no_grad")``, ``@builtin("zip")``,
``@method("torch.nn.Module", "register_buffer")``. It returns the value of the call, or None if it does not know this
call. Then the table of facts is asked, and in the end the call is an unknown one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..heap.values import NONE, Value
from ..program.site import Site
from ..trace.trace import Trace


@dataclass(slots=True)
class Call:
    """One call: what a model is given."""

    m: Trace
    name: str  # the full name of the function, or the bare name of the method
    args: list[Value]
    kwargs: dict[str, Value]
    site: Site  # where to report what it does

    def argument(self, index: int, keyword: str = "", default: Value = NONE) -> Value:
        """Return the argument at a position or, if it is not there, the one of a keyword."""
        if index < len(self.args):
            return self.args[index]
        return self.kwargs.get(keyword, default)

    def seen(self, index: int) -> Value:
        """Return the argument at a position, as far as it is known on the present path."""
        return self.m.see(self.argument(index))

    @property
    def values(self) -> list[Value]:
        """All arguments."""
        return [*self.args, *self.kwargs.values()]


Model = Callable[[Call], Value | None]
Method = Callable[[Call, Any], Value | None]  # the second argument is the receiver
_Registered = TypeVar("_Registered", bound=Callable[..., Value | None])

MODELS: dict[str, Model] = {}
"""Functions and classes, by their full names."""
CONSTANTS: dict[str, Value] = {}
"""Numbers that modules define, by their full names."""
METHODS: dict[str, dict[str, Method]] = {}
"""Methods, by the full name of the class and their own."""
PACKAGES: dict[str, Model] = {}
"""What stands for all of a package, or of a class, that has no model and no facts of its own."""


def model(*names: str) -> Callable[[_Registered], _Registered]:
    """Register a function as the model of these functions or classes."""
    return _register(MODELS, names)


def builtin(*names: str) -> Callable[[_Registered], _Registered]:
    """Register a function as the model of these builtins of Python."""
    return _register(MODELS, [f"builtins.{name}" for name in names])


def package(*names: str) -> Callable[[_Registered], _Registered]:
    """Register a function as the model of everything in these packages that has none of its own."""
    return _register(PACKAGES, names)


def method(cls: str, *names: str) -> Callable[[_Registered], _Registered]:
    """Register a function as the model of these methods of a class. Its second parameter is the receiver."""
    return _register(METHODS.setdefault(cls, {}), names)


def _register(table: dict[str, Any], names: Iterable[str]) -> Callable[[_Registered], _Registered]:
    def register(function: _Registered) -> _Registered:
        for name in names:
            if name in table:
                raise ValueError(f"two models for {name}")
            table[name] = function
        return function

    return register


def call_model(call: Call) -> Value | None:
    """Call the model of a function or class; None if it has none, or if that does not know this call."""
    found = MODELS.get(call.name)
    return found(call) if found is not None else None


def call_package(call: Call) -> Value | None:
    """Call the model of the innermost package that a function stands in; None if there is none."""
    name = call.name
    while name := name.rpartition(".")[0]:
        if name in PACKAGES:
            return PACKAGES[name](call)
    return None


def call_method(call: Call, receiver: Value, *classes: str) -> Value | None:
    """Call the model of a method, of the first of these classes that has one that knows this call."""
    for cls in classes:
        found = METHODS[cls].get(call.name)
        if found is not None and (result := found(call, receiver)) is not None:
            return result
    return None
