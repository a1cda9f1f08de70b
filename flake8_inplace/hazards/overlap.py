"""Operands that overlap what is overwritten: regions of one tensor that are assigned to each other, or mixed."""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.regions import (
    Relation,
    is_dense,
    origins,
    plain,
    relation,
    same_tensor,
    takes_all,
    takes_one,
    takes_stretch,
    unshaped,
    whole_of,
)
from ..heap.values import Array, Const, Region, Tensor, Unknown, Value
from ..program.site import Site
from ..rule import Rule
from ..torchfacts.kinds import ADDING, SCALING
from ..trace import events
from ..trace.log import Overwrite, since
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP208",
        "overlapping-operand",
        "an in-place operator reads its own memory in another order",
        "overlap",
        "overwrites memory that it reads",
        other="operand",
        effect="PyTorch raises",
        advice="`clone()` the operand",
        fix="safe",
    ),
    Rule(
        "TIP306",
        "overlapping-shift",
        "a tensor is overwritten with an overlapping part of itself",
        "shift",
        "overwrites memory that it has yet to read",
        other="operand",
        effect="silently wrong",
        advice="`clone()` the source",
        silent=True,
        at_run_time=False,
    ),
)

ELEMENTWISE = frozenset({*ADDING, *SCALING, "pow", "fmod", "remainder"})
"""Arithmetic of each element with one of an operand. What a copy overwrites with itself stays as it is."""
DEPTH = 4
"""How many parts may change places in a ring."""
_COPYING = frozenset({"clone", "copy"})
_REORDERING = frozenset({"flip", "fliplr", "flipud", "roll", "rot90"})


@events.operate.listen
def in_operator(m: Trace, op: str, tensor: Tensor, sources: list[Tensor], alpha: Value, site: Site) -> None:
    """Judge an in-place operator whose operands, scaled by ``alpha``, may be parts of the tensor that it overwrites."""
    tensor = whole_of(tensor)
    for source in sources:
        if tensor.region is not None and source.region is not None:
            _judge_copy(m, tensor.region.base, tensor.region.index, source, site)
        if source.region is not None and op.removesuffix("_") in ELEMENTWISE:
            _judge_spread(m, tensor, source, source.region, site)
        if tensor.region is None:
            _judge_mix(m, tensor, source, alpha, site)
    if op == "copy_" and tensor.region is not None and sources:
        _judge_sources(m, tensor.region.base, tensor.region.index, sources[0], site)


@events.assign_part.listen
def in_assignment(m: Trace, base: Tensor, index: tuple[Value, ...], value: Value, site: Site) -> None:
    """Judge ``base[index] = value``, where ``value`` may be a view of ``base`` or computed from one."""
    if isinstance(value, Tensor):
        part = base.region
        if not plain(index) and part is not None and base.contiguous == part.base.contiguous:
            base, index = part.base, part.index  # `part[:] = value`
        if value.region is not None:
            _judge_copy(m, base, index, value, site)
        _judge_sources(m, base, index, value, site)


@events.assign_in_array.listen
def in_array(m: Trace, array: Array, index: tuple[Value, ...], value: Value, site: Site) -> None:
    """Judge ``array[index] = value``. numpy copies a source that overlaps its target."""
    _judge_sources(m, array.tensor, index, value, site)


def _judge_copy(m: Trace, base: Tensor, index: tuple[Value, ...], source: Tensor, site: Site) -> None:
    """Report ``x[:, n:] = x[:, :-n]`` and ``x[i] = x[i].T``, which read elements that they have overwritten.

    Measured: PyTorch refuses a shift in the first dimension of contiguous memory, and a transposed source. A shift in
    another dimension gives no error. To higher indices the result is wrong; to lower indices it was right on a CPU.
    A transposed source of a part with gaps, ``x[:2, :2] = x[:2, :2].T``, gives no error either, and wrong results.
    """
    region = source.region
    if region is None or not same_tensor(base, region.base):
        return
    how, dimension = relation(index, region.index, m.symbols)
    moved = how in (Relation.SHIFTED_UP, Relation.SHIFTED_DOWN)
    reordered = how is Relation.SAME and source.contiguous != base.contiguous
    dense = is_dense(base)
    if reordered:
        m.refuse("overlap" if takes_stretch(index) else "shift", site, other=source.place)
    elif moved and dimension == 0 and dense:
        m.refuse("overlap", site, other=source.place)
    elif how is Relation.SHIFTED_UP and (dimension > 0 or dense is False):
        m.refuse("shift", site, other=source.place)


def _judge_spread(m: Trace, tensor: Tensor, source: Tensor, part: Region, site: Site) -> None:
    """Report ``x -= x[:, :1]``, which broadcasts a part of ``x`` and reads it again after it was overwritten.

    Measured: PyTorch refuses a part along the first dimension of contiguous memory, and gives no error for others.
    """
    while not plain(part.index) and part.base.region is not None:
        part = part.base.region
    if not same_tensor(tensor, part.base):
        return
    indices = list(plain(part.index))
    while indices and takes_all(indices[0]):
        del indices[0]
    if indices and takes_one(indices[0]):
        first, dense = len(indices) == len(plain(part.index)), is_dense(tensor)
        if first and dense:
            m.refuse("overlap", site, other=source.place)
        elif not first or dense is False:
            m.refuse("shift", site, other=source.place)


def _judge_sources(m: Trace, base: Tensor, index: tuple[Value, ...], value: Value, site: Site) -> None:
    """Report a source of an assignment that was overwritten after the view of it was made.

    - ``x[i], x[j] = x[j], x[i]``: the second source is a view, and the first assignment changed it.
    - ``x[:n] = a * c - b * s``, then ``x[n:] = b * c + a * s``, where ``a`` is ``x[:n]``.
    """
    for part, read in _parts(m, value):
        region = part.region
        inside = region is not None and same_tensor(base, region.base)
        if region is None or (inside and _same(m, index, region.index)):
            continue
        for event in _overwrites(m, region, read):
            if _swapped(m, base, index, event) or (inside and any(_uses(v, part) for v in event.written.values)):
                m.refuse("read", event.site, guard=event.guard)


def _overwrites(m: Trace, region: Region, read: int) -> Iterator[Overwrite]:
    """What this function wrote to a region between the moments when it was taken and ``read``."""
    for event in since(m, region.base, region.time):
        over = written_region(event)
        if event.time > read or event.frames[-1] not in m.stack.frames[-1:] or over is None:
            continue
        if same_tensor(region.base, over[0]) and _same(m, over[1], region.index):
            yield event


def _parts(m: Trace, value: Value) -> Iterator[tuple[Tensor, int]]:
    """Yield the views that a value is or was computed from, each with the time of its last read."""
    if isinstance(value, Tensor) and value.region is not None:
        yield value, m.clock
    for made, operand in origins(value):
        if isinstance(operand, Tensor) and operand.region is not None:
            yield operand, made.time


def written_region(event: Overwrite) -> tuple[Tensor, tuple[Value, ...]] | None:
    """The tensor and the index of a write to a part of it."""
    if event.written.index is not None and (plain(event.written.index) or event.tensor.region is None):
        return event.tensor, event.written.index
    region = unshaped(event.tensor).region or event.tensor.region
    return (region.base, region.index) if region is not None else None


def _same(m: Trace, one: tuple[Value, ...], other: tuple[Value, ...]) -> bool:
    return relation(one, other, m.symbols)[0] is Relation.SAME


def _swapped(m: Trace, base: Tensor, index: tuple[Value, ...], event: Overwrite, depth: int = DEPTH) -> bool:
    """Whether a write put the part there that is assigned to now, or one that this one came to in its turn.

    It put nothing there if it added something: ``old += step; new = old`` is no exchange. A copy of that part puts its
    values there as well: ``x[i], x[j] = x[j].clone(), x[i]`` copies the wrong one of the two.
    """
    values = event.written.values if event.written.op.removesuffix("_") not in ELEMENTWISE else ()
    for region in (_copied(m, value).region for value in values if isinstance(value, Tensor)):
        if region is not None and depth:
            if same_tensor(base, region.base) and _same(m, index, region.index):
                return True
            if any(_swapped(m, base, index, later, depth - 1) for later in _overwrites(m, region, m.clock)):
                return True
    return False


def _copied(m: Trace, value: Tensor) -> Tensor:
    """Return what a tensor is a copy of: of ``x[j].clone()`` the part ``x[j]``; otherwise the tensor itself."""
    made = value.made if value.region is None else None
    source = m.see(made.values[0]) if made is not None and made.op in _COPYING else value
    return source if isinstance(source, Tensor) else value


def _uses(value: Value, part: Tensor) -> bool:
    return any(operand is part for _, operand in origins(value))


def _judge_mix(m: Trace, tensor: Tensor, source: Tensor, alpha: Value, site: Site) -> None:
    """Report ``x.mul_(a).add_(x.flip(0))``, which mixes ``x`` with itself and reads it after the first write.

    The old values are meant if both writes are one chain, or if the factors add up to one: ``x *= a``, then
    ``x += (1 - a) * x.flip(0)``. A source that is divided by the factor is correct.
    """
    from ..program.wording import links

    orders = [made for made, operand in origins(source) if made.op in _REORDERING and operand is tensor]
    for event in since(m, tensor, 0) if orders else ():
        here = event.frames[-1] in m.stack.frames[-1:]
        if not here or event.tensor is not tensor or event.written.index is not None:
            continue
        if not any(made.time >= event.time for made in orders):
            continue
        chained = any(link is event.site.expression for link in links(site.expression))
        factors = [value for value in event.written.values if event.written.op.removesuffix("_") in SCALING]
        if any(_divides_by(source, factor) for factor in factors):
            continue
        if chained or any(_complements(m, source, alpha, factor) for factor in factors):
            m.refuse("read", event.site, guard=event.guard)


def _divides_by(value: Value, factor: Value) -> bool:
    return any(made.op == "div" and factor in made.values[1:] for made, _ in origins(value))


def _complements(m: Trace, value: Value, alpha: Value, factor: Value) -> bool:
    """Return whether a value was multiplied by one minus a factor."""
    scales = [alpha, *(operand for made, operand in origins(value) if made.op == "mul")]
    if isinstance(factor, Const):
        return any(_add_up_to_one(scale, factor) for scale in scales)
    rest = m.symbols.get(("sub", Const(1), factor)) if isinstance(factor, Unknown) else None
    return any(scale is rest or (isinstance(scale, Tensor) and _is_rest(scale, factor)) for scale in scales)


def _add_up_to_one(one: Value, other: Value) -> bool:
    values = [value.value for value in (one, other) if isinstance(value, Const)]
    return len(values) == 2 and all(isinstance(v, (int, float)) for v in values) and abs(sum(values) - 1) < 1e-9


def _is_rest(scale: Tensor, factor: Value) -> bool:
    return scale.made is not None and scale.made.op == "sub" and scale.made.values[:2] == (factor, Const(1))


def untouched(m: Trace, tensor: Tensor, index: tuple[Value, ...], event: Overwrite) -> bool:
    """Whether reading ``tensor[index]`` reads nothing that a write has changed: ``y = x; y[mask] = 0; x[~mask]``."""
    over = written_region(event)
    if over is None or not same_tensor(tensor, over[0]):
        return False
    masks = [item for item in over[1] if isinstance(item, Tensor)]
    if any(since(m, mask, event.time) for mask in masks):
        return False
    return relation(over[1], index, m.symbols)[0] is Relation.DISJOINT
