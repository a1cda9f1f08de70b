"""The shapes of tensors, where the text gives the sizes: those of factories, and of what operators make of these."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.values import NONE, Bindings, Const, List, Tensor, Tuple, Unknown, Value, constant
from ..torchfacts import kinds
from ..torchfacts import ops as facts
from ..torchfacts.notation import SCALAR, Condition
from ..torchfacts.sizes import holds_sizes, relation
from ..trace.trace import Trace

Shape = tuple[int, ...]
_SIZED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "randint"})
_WRITTEN_OUT = frozenset({"tensor", "as_tensor"})
PADDING = ("init.padding", "init.kernel_size", "init.dilation")
"""The options of a layer that say how `pads_unevenly`."""
MOST = 10_000
"""The most elements of a list whose lengths are compared."""


def of_result(
    m: Trace, op: facts.Op, operands: dict[str, list[Tensor]], bound: Bindings, sizes: tuple[Value, ...]
) -> Shape | None:
    """The shape of a new tensor. ``sizes`` are those that the operator is given."""
    if op.name in _SIZED:
        return constants(sizes) if sizes else None
    if op.name in _WRITTEN_OUT:
        return _lengths(m, bound.get("data", NONE))
    if op.name == "repeat":
        base = next((tensor.shape for tensor in operands.get("self", ())), None)
        return _repeated(base, numbers(m, bound.get("repeats", NONE)))
    if facts.reduces(op.name) and set(bound) == {name for name, given in operands.items() if given}:
        return ()
    if not operands or not facts.keeps_shape(op.name) or any(map(_may_be_tensor, _given(m, op, bound))):
        return None
    shape: Shape | None = ()
    for tensor in [tensor for found in operands.values() for tensor in found]:
        shape = broadcast(shape, tensor.shape)
    return shape


def of_view(m: Trace, op: facts.Op, base: Tensor, bound: Bindings, sizes: tuple[Value, ...]) -> Shape | None:
    """The shape of a view in other sizes, with one more dimension, or expanded. It is given ``sizes``."""
    if op.name in ("view", "reshape"):
        return constants(sizes) if sizes else None
    if base.shape is None:
        return None
    if op.name == "unsqueeze":
        dim = constant(m.see(bound["dim"]))
        return _with_one(base.shape, dim) if type(dim) is int else None
    if op.name not in ("expand", "broadcast_to") or len(sizes) < len(base.shape):
        return None
    was = (*[Const(None)] * (len(sizes) - len(base.shape)), *map(Const, base.shape))
    return constants(tuple([old if size == Const(-1) else size for size, old in zip(sizes, was, strict=True)]))


def _repeated(shape: Shape | None, times: Shape | None) -> Shape | None:
    """The shape of what is repeated so many times in each dimension; the first ones may be new."""
    if shape is None or times is None or len(times) < len(shape) or min(times, default=0) < 0:
        return None
    longer = (1,) * (len(times) - len(shape)) + shape
    return tuple([size * number for size, number in zip(longer, times, strict=True)])


def _with_one(shape: Shape, dim: int) -> Shape:
    place = dim if dim >= 0 else len(shape) + 1 + dim
    return (*shape[:place], 1, *shape[place:])


def _given(m: Trace, op: facts.Op, bound: Bindings) -> list[Value]:
    return [m.see(bound[p.name]) for p in op.params if p.kind != "other" and p.name in bound]


def _may_be_tensor(value: Value) -> bool:
    return isinstance(value, Unknown) and not value.scalar


def constants(sizes: tuple[Value, ...]) -> Shape | None:
    """Sizes that are all known."""
    known = [size.value for size in sizes if isinstance(size, Const) and type(size.value) is int and size.value >= 0]
    return tuple(known) if len(known) == len(sizes) else None


def broadcast(one: Shape | None, other: Shape | None) -> Shape | None:
    """The shape of what an operator makes, element by element, of two tensors; None if it is not known."""
    if one is None or other is None:
        return None
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    shorter = (1,) * (len(longer) - len(shorter)) + shorter
    if any(a != b and 1 not in (a, b) for a, b in zip(longer, shorter, strict=True)):
        return None
    return tuple([b if a == 1 else a for a, b in zip(longer, shorter, strict=True)])


def repeats_nothing(shape: Shape | None, sizes: Sequence[int | None]) -> bool:
    """Whether what is expanded to these sizes surely has no element twice."""
    known: list[int | None] = [None] * len(sizes)
    if shape is not None and len(shape) <= len(sizes):
        known = [1] * (len(sizes) - len(shape))
        known.extend(shape)
    stays = [size in (1, -1) or (size is not None and size == was) for size, was in zip(sizes, known, strict=True)]
    return 0 in sizes or all(stays)


def repeats_elements(m: Trace, bound: Bindings) -> bool:
    """Whether the strides that are given surely take elements several times: a stride of 0 for more than one."""
    size, stride = (numbers(m, bound.get(name, NONE)) for name in ("size", "stride"))
    known = size is not None and stride is not None and len(size) == len(stride) and 0 not in size
    return known and any(step == 0 and count > 1 for count, step in zip(size or (), stride or (), strict=True))


def is_one_element(tensor: Tensor) -> bool:
    """Whether a tensor surely has one element."""
    return tensor.dims == 0 or (tensor.shape is not None and set(tensor.shape) <= {1})


def is_as_large(m: Trace, tensor: Tensor, sizes: Value, dims: Value) -> bool:
    """Whether a tensor surely has at least these sizes in these dimensions, or in its last ones."""
    wanted, where = numbers(m, sizes), numbers(m, dims)
    if tensor.shape is None or wanted is None or (where is None and m.see(dims) != NONE):
        return False
    return holds_sizes(tensor.shape, wanted, where)


def pads_unevenly(m: Trace, op: facts.Op, slot: str, operands: dict[str, list[Tensor]], bound: Bindings) -> bool:
    """Whether a convolution saves a copy of its input: ``padding="same"`` pads it on one side, for an even kernel."""
    init = "init." * op.name.startswith("C")
    if op.name not in kinds.CONVOLUTIONS or slot != "input" or bound.get(f"{init}padding") != Const("same"):
        return False
    weight = next((tensor.shape for tensor in operands.get("weight", ())), None)
    kernel = weight[2:] if weight is not None else numbers(m, bound.get("init.kernel_size", NONE))
    dilation = numbers(m, bound.get(f"{init}dilation", Const(1)))
    if kernel is None or dilation is None:
        return False
    dilations = dilation if len(dilation) == len(kernel) else dilation[:1] * len(kernel)
    return any(step * (size - 1) % 2 for step, size in zip(dilations, kernel, strict=True))


def numbers(m: Trace, value: Value) -> Shape | None:
    """One integer, or several, that are known."""
    value = m.see(value)
    if isinstance(value, List) and not m.state.get(value).open:
        value = Tuple(m.state.get(value).items)
    items = [m.see(item) for item in value.items] if isinstance(value, Tuple) else [value]
    found = [item.value for item in items if isinstance(item, Const) and type(item.value) is int]
    return tuple(found) if len(found) == len(items) else None


def fulfils(condition: Condition, tensor: Tensor, first: Tensor) -> bool:
    """Whether a condition on the shape of a tensor surely holds. An unknown shape is taken for no ``batch``."""
    if condition.values == (SCALAR,):
        return condition.holds(SCALAR if tensor.shape == () or tensor.dims == 0 else None)
    if tensor.shape is None or first.shape is None:
        return condition.negated and condition.values == ("batch",)
    return condition.holds(relation(tensor.shape, first.shape))


def _lengths(m: Trace, value: Value) -> Shape | None:
    """How long lists of lists of numbers are."""
    value = m.see(value)
    number = isinstance(value, Const) and isinstance(value.value, (int, float))
    if number or (isinstance(value, Unknown) and value.scalar):
        return ()
    if isinstance(value, List) and m.state.get(value).open:
        return None
    items = value.items if isinstance(value, Tuple) else m.state.get(value).items if isinstance(value, List) else None
    if items is None or len(items) > MOST:
        return None
    if not items:
        return (0,)
    inner = _lengths(m, items[0])
    return None if inner is None else (len(items), *inner)
