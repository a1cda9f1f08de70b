"""Callable values that the program does not define by ``def`` or ``class``, and modules of the project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..heap.values import Callable_, List, Value
from ..program.roots import Module
from ..program.sealed import sealed
from ..program.site import Site
from .frames import Class, Function

if TYPE_CHECKING:
    import libcst as cst


@sealed(frozen=True, slots=True, eq=False)
class Managed(Callable_):
    """The context manager that a function under ``contextlib.contextmanager`` returns, before it is entered."""

    function: Function
    args: list[Value]
    kwargs: dict[str, Value]
    site: Site


@sealed(frozen=True, slots=True)
class Bound(Callable_):
    """A function of the program, bound to its receiver."""

    function: Function
    receiver: Value


@sealed(frozen=True, slots=True)
class Method(Callable_):
    """A bound method that no class of the file defines: ``x.add_``, ``items.append``."""

    receiver: Value
    name: str
    node: cst.CSTNode


@sealed(frozen=True, slots=True)
class Namespace(Callable_):
    """A module of the project as a value. It is no callable, but `Callable_` is where other rooms add values."""

    module: Module


@sealed(frozen=True, slots=True)
class Super(Callable_):
    """``super()``: looks names up in the classes after ``owner``."""

    owner: Class
    receiver: Value


@sealed(frozen=True, slots=True, eq=False)
class Partial(Callable_):
    function: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@sealed(frozen=True, slots=True, eq=False)
class Dispatch(Callable_):
    """A function under ``functools.singledispatch``. ``table``: its implementations, each with the type it is for."""

    function: Value
    table: List


@sealed(frozen=True, slots=True, eq=False)
class MethodCaller(Callable_):
    """``operator.methodcaller``: calls a method of what it is called with."""

    name: str
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@sealed(frozen=True, slots=True, eq=False)
class Getter(Callable_):
    """``operator.itemgetter``, or ``attrgetter`` if ``attributes``: takes these out of what it is called with."""

    names: tuple[Value, ...]
    attributes: bool


@sealed(frozen=True, slots=True, eq=False)
class Transform(Callable_):
    """A function that ``torch.func`` transformed: with ``vmap`` over dimensions, or with ``grad`` of arguments."""

    kind: str
    function: Value
    dims: Value  # of the arguments: the batch dimension of each, or the numbers of those that are differentiated


@dataclass(frozen=True, slots=True)
class GradMode(Callable_):
    """A context manager or decorator that switches grad mode, and inference mode unless ``inference`` is None."""

    on: bool
    inference: bool | None = None


@dataclass(frozen=True, slots=True)
class Autocast(Callable_):
    """``torch.autocast``, as a context manager or decorator, for one type of device.

    ``on`` is None if the program decides it when it runs. ``casts``: a function that it decorates is given copies of
    its arguments, cast to the lower precision, where autocast is on outside.
    """

    on: bool | None
    device: str = ""
    casts: bool = False


class Caching(Callable_):
    """``parametrize.cached()``: a context manager in which each parametrization runs once."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Packing(Callable_):
    """``saved_tensors_hooks``: a context manager that packs the tensors saved in it, without autograd's version check.

    ``shares``: the hooks return the saved tensor itself, not a copy.
    """

    shares: bool
