"""Running an op to see what it saves, overwrites and returns. Development only.

A call is made once for each parameter whose tensors may require grad, with hooks that note what autograd packs. Saved
tensors and outputs are told by their storage: it is that of an argument, that of an output, or of no name.
"""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_flatten, tree_map

from . import handwritten
from .learning import simple
from .notation import DOUBLE, DTYPE, FITS, SCALAR, SHAPE, Op, Out, Param
from .ops import torch_version
from .sizes import holds_sizes, relation
from .variations import fitted, has_shape, variations


@dataclass(frozen=True)
class Run:
    """What one call did with the tensors of one parameter requiring grad."""

    requires: str | None
    present: frozenset[str]  # parameters that held a tensor
    empty: bool  # some tensor had no elements
    dims: int  # the most dimensions that a tensor had
    saved: frozenset[str]
    written: frozenset[str]
    outs: tuple[Out, ...]  # of this run: differentiable says whether it did require grad
    shape: tuple[int, ...] | None  # of the result, if the arguments are broadcast to it
    single: bool = False  # it returns one number
    options: dict[str, Any] = field(default_factory=dict)  # what was given besides tensors; a tensor as "tensor"
    base: int = 0  # the number of the call among those of its overload
    changed: str | None = None  # the option in which it differs from that call

    @property
    def scalar(self) -> bool:
        """Whether no tensor had a dimension."""
        return not self.dims


@dataclass
class Overload:
    """One row in the making."""

    op: Op
    exact: bool  # the saves come from a formula; measuring adds nothing to them
    runs: list[Run] = field(default_factory=list)
    calls: int = 0
    telling: int = 0  # how many of them were on tensors that have dimensions
    settings: dict[str, Any] = field(default_factory=dict)  # how the module was built whose calls are measured
    failed: set[str] = field(default_factory=set)  # values of options that it does not take


ENOUGH = 20  # runs to learn the outputs of an op whose saves are known


def measure(
    overloads: list[Overload],
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    options: bool = True,
) -> bool:
    """Run a call once for each parameter that may require grad; note the runs at the overload that takes it.

    With ``options``, the call is repeated with each of its options changed. Kernels of ATen do not check all of theirs.
    """
    for overload in overloads:
        bound = bind(overload.op, args, kwargs)
        if bound is None:
            continue
        if overload.exact and len(overload.runs) >= ENOUGH:
            return True
        runs = run_each(overload, function, args, kwargs, bound)
        overload.runs += runs
        telling = any(not run.scalar for run in runs)
        if options and telling and not overload.exact and overload.telling & (overload.telling + 1) == 0:  # 0, 1, 3, 7
            vary(overload, function, args, kwargs)
        overload.telling += telling
        overload.calls += bool(runs)
        return bool(runs)
    return False


def run_each(
    overload: Overload,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    bound: dict[str, Any],
    changed: str | None = None,
) -> list[Run]:
    """Run a call once for each parameter that may require grad."""
    many = len(overload.op.outs) == 1 and overload.op.outs[0].many
    requiring: list[str | None] = [name for name, value in bound.items() if any(map(is_float, tensors_in(value)))]
    runs = [execute(function, args, kwargs, bound, requires, many) for requires in requiring or [None]]
    options = options_of(overload.op, bound) | overload.settings
    return [replace(r, options=options, base=overload.calls, changed=changed) for r in runs if r is not None]


def vary(overload: Overload, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Repeat a call with each of its options changed."""
    ways = list(variations(overload.op, args, kwargs, function))
    if torch.__version__.partition("+")[0] == torch_version():
        for way in ways:
            overload.runs += run_changed(overload, function, *way)
        return
    first = 0
    while first < len(ways):
        for runs, failed in apart(overload, function, ways[first:]):
            overload.runs += runs
            overload.failed |= failed
            first += 1
        first += 1  # past the one that it crashed on, if it came that far only


def run_changed(
    overload: Overload, function: Callable[..., Any], changed: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[Run]:
    """Run a call in which one option is changed; nothing if the overload is known not to take the value."""
    bound = bind(overload.op, args, kwargs)
    if bound is None or (value := f"{changed}={options_of(overload.op, bound).get(changed)}") in overload.failed:
        return []
    runs = run_each(overload, function, args, kwargs, bound, changed)
    if not runs and overload.calls:
        overload.failed.add(value)
    return runs


def apart(
    overload: Overload, function: Callable[..., Any], ways: Sequence[Any]
) -> Iterator[tuple[list[Run], set[str]]]:
    """Yield the runs of changed calls, and what failed by then, from a process of its own.

    The options are chosen for the release of the table. The kernels of another one may crash on what it refuses.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open(writer, "wb") as results:
                for way in ways:
                    pickle.dump((run_changed(overload, function, *way), overload.failed), results)
                    results.flush()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as results:
        while results.peek(1):
            yield pickle.load(results)
    os.waitpid(child, 0)


def options_of(op: Op, bound: dict[str, Any]) -> dict[str, Any]:
    """What conditions may speak of: the values of options, whether an optional tensor is given, and its shape."""
    options = {
        p.name: simple(bound[p.name]) if p.kind == "other" else "<tensor>"
        for p in op.params
        if bound.get(p.name) is not None and (p.kind == "other" or p.optional)
    }
    tensors = [p for p in op.params if p.kind == "tensor" and isinstance(bound.get(p.name), torch.Tensor)]
    first = bound[tensors[0].name].shape if tensors else ()
    shapes = {p.name + SHAPE: relation(bound[p.name].shape, first) for p in tensors[1:] if has_shape(p)}
    shapes |= {p.name + SHAPE: SCALAR for p in tensors[:1] if has_shape(p) and not first}
    options |= {option: shape for option, shape in shapes.items() if shape is not None}
    options |= {p.name + DTYPE: DOUBLE for p in tensors if has_shape(p) and bound[p.name].dtype is torch.float64}
    _, length, whole = handwritten.PADDED.get(op.name, ("", "", ""))
    if length in options and options[length] == options.get(whole):
        options[length] = whole
    sized = fitted(op)
    if sized is not None:
        sizes, dims = (whole_numbers(bound.get(option)) for option in (sized, "dim"))
        options[sized + FITS] = sizes is not None and holds_sizes(first, sizes, dims)
    return options


def whole_numbers(value: Any) -> Sequence[int] | None:
    """One integer, or several."""
    found = value if isinstance(value, (list, tuple)) else (value,)
    return found if all(isinstance(number, int) for number in found) else None


def bind(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments by parameter, or None if this overload does not take them."""
    bound: dict[str, Any] = {}
    rest = list(args)
    for p in op.params:
        if p.kwonly or not rest:
            break
        if p.varargs:
            one = len(rest) == 1 and isinstance(rest[0], (list, tuple))
            bound[p.name], rest = rest[0] if one else rest, []
        else:
            bound[p.name] = rest.pop(0)
    known = {p.name for p in op.params}
    if rest or any(name in bound or name not in known for name in kwargs):
        return None
    bound |= kwargs
    for p in op.params:
        if p.name in bound and not fits(p, bound[p.name]):
            return None
        if p.name not in bound and not p.optional and not (p.varargs and p.kind == "tensors"):
            return None
    return bound


def fits(p: Param, value: Any) -> bool:
    if value is None:
        return p.optional or p.kind != "tensors"
    if p.kind == "tensor":
        return isinstance(value, torch.Tensor)
    several = isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value)
    if p.kind == "tensors":
        return several or (isinstance(value, (list, tuple)) and not value)
    return not several and not isinstance(value, torch.Tensor)


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def moved(value: Any, device: str) -> Any:
    """The same arguments with their tensors on a device."""
    return tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, value)


def is_float(t: torch.Tensor) -> bool:
    """May a tensor of this dtype require grad?"""
    return bool(t.dtype.is_floating_point or t.dtype.is_complex)


def storage(t: torch.Tensor) -> int | None:
    """What tells one memory from another; None for tensors without memory of their own, such as sparse ones."""
    try:
        return int(t.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None


def slot_of(index: int) -> str:
    """The name of an output."""
    return f"result{index}" if index else "result"


class _Packed:
    """A saved tensor as a node of the graph holds it: it goes with the node, unless it refers to the graph itself."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def execute(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    bound: dict[str, Any],
    requires: str | None,
    many: bool,
) -> Run | None:
    """Call on copies of the arguments, those of `requires` requiring grad; None if it fails or cannot be told apart.

    many: a tuple that is returned is one list of tensors, not several outputs.
    """
    copied = _copies(bound, requires)
    if copied is None:
        return None
    copies, held = copied
    owner = {storage(copy): name for name, tensors in held.items() for copy in tensors}
    versions = {name: [t._version for t in tensors] for name, tensors in held.items()}
    called = _call(function, args, kwargs, copies)
    if called is None:
        return None
    result, kept = called
    written = {name for name, tensors in held.items() if [t._version for t in tensors] != versions[name]}
    outputs = list(result) if isinstance(result, tuple) and not many else [result]
    slots = _slots(outputs, owner, written)
    places = {storage(t) for t in kept}
    partly = {name for name, tensors in held.items() if any(storage(t) not in places for t in tensors)}
    return Run(
        requires,
        frozenset(held),
        any(t.numel() == 0 for t in copies.values()),
        max((t.dim() for t in copies.values()), default=0),
        frozenset(slots[place] for place in places if place in slots and slots[place] not in partly),
        frozenset(written),
        tuple(classify(output, held) for output in outputs),
        kept_shape(outputs, list(copies.values())),
        len(outputs) == 1 and isinstance(outputs[0], torch.Tensor) and not outputs[0].dim(),
    )


def _slots(outputs: list[Any], owner: dict[int | None, str], written: set[str]) -> dict[int | None, str]:
    """The names of the results and arguments that the memory of a saved tensor may be."""
    slots = {storage(t): slot_of(i) for i, output in reversed([*enumerate(outputs)]) for t in tensors_in(output)}
    # What an op overwrites it also returns; the old value it saves as a copy.
    return slots | {place: "result" if name in written else name for place, name in owner.items()}


def _call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], copies: dict[int, torch.Tensor]
) -> tuple[Any, list[torch.Tensor]] | None:
    """Call on the copies: the result, and what its graph, or that of what was written, has saved. None if it fails."""
    packed: list[weakref.ref[_Packed]] = []

    def swap(value: Any) -> Any:
        return tree_map(lambda leaf: copies[id(leaf)] if isinstance(leaf, torch.Tensor) else leaf, value)

    def pack(t: torch.Tensor) -> _Packed:
        held_by_graph = _Packed(t.detach())
        packed.append(weakref.ref(held_by_graph))
        return held_by_graph

    torch.manual_seed(0)
    try:
        with saved_tensors_hooks(pack, lambda kept: kept.tensor):
            result = function(*swap(list(args)), **swap(dict(kwargs)))
    except Exception:  # of any kind: this input has no gradient, or the sample asks for what this device lacks
        return None
    if result is NotImplemented:
        return None
    return result, [one.tensor for ref in packed if (one := ref()) is not None]


def _copies(
    bound: dict[str, Any], requires: str | None
) -> tuple[dict[int, torch.Tensor], dict[str, list[torch.Tensor]]] | None:
    """Copies of the tensors in the arguments, by identity and by argument; None if one is given twice or has no memory.

    Those of `requires` require grad, and are no leaves: they may be overwritten.
    """
    copies: dict[int, torch.Tensor] = {}
    held: dict[str, list[torch.Tensor]] = {}
    for name, value in bound.items():
        for t in tensors_in(value):
            if id(t) in copies or storage(t) is None:
                return None
            copy = t.detach().clone()
            if name == requires and is_float(t):
                copy = copy.requires_grad_().clone()
            copies[id(t)] = copy
            held.setdefault(name, []).append(copy)
    return copies, held


def kept_shape(outputs: Sequence[Any], given: Sequence[torch.Tensor]) -> tuple[int, ...] | None:
    """The shape of the one output, if the arguments are broadcast to it."""
    if len(outputs) != 1 or not isinstance(outputs[0], torch.Tensor):
        return None
    shape = tuple(outputs[0].shape)
    try:
        return shape if shape == tuple(torch.broadcast_shapes(*(t.shape for t in given))) else None
    except RuntimeError:  # they cannot be
        return None


def classify(output: Any, held: dict[str, list[torch.Tensor]]) -> Out:
    """What one output is in this run; of kind "none" if it holds no tensor."""
    tensors = tensors_in(output)
    many = isinstance(output, (list, tuple))
    if not tensors:
        return Out("fresh" if many else "none", None, False, many)
    t = tensors[0]
    rest = (any(o.requires_grad for o in tensors), many, not any(map(is_float, tensors)))
    for name, sources in held.items():
        for source in sources:
            if source is t:
                return Out("same", name, *rest)
            if storage(source) == storage(t) and storage(t) is not None:
                return Out(kind_of_view(t, source), name, *rest)
    return Out("fresh", None, *rest)


def kind_of_view(t: torch.Tensor, source: torch.Tensor) -> str:
    """The kind of an output that shares memory; spoils both."""
    before = t._version
    with torch.no_grad():
        source.zero_()
    if t._version == before:
        return "unsafe"
    if source.requires_grad and not t.requires_grad and is_float(t):
        return "detached"
    try:
        t.zero_()
    except RuntimeError as error:
        if "multiple views" in str(error):
            return "views"
    return "expand" if 0 in t.stride() and t.numel() > 1 else "view"
