"""``TensorDataset`` and ``DataLoader``: the tensors that they yield, and the batches of an iterable dataset."""

from __future__ import annotations

from ..heap.values import NONE, List, Object, Origin, Ref, Source, Tensor, Tuple, Value, constant
from ..trace import events
from ..trace.callables import Bound
from ..trace.frames import Function
from ..trace.trace import Trace
from . import lineage, tensors
from .registry import Call, model

DATASET, LOADER = Ref("torch.utils.data.TensorDataset"), Ref("torch.utils.data.DataLoader")
_OWN = frozenset({"collate_fn", "batch_sampler", "sampler"})


@model(DATASET.name, "torch.utils.data.dataset.TensorDataset")
def _dataset(call: Call) -> Value | None:
    given = list(map(call.m.see, call.args))
    known = bool(given) and all(isinstance(value, Tensor) for value in given)
    return Object(DATASET, {"tensors": Tuple(tuple(given))}) if known else None


@model(LOADER.name, "torch.utils.data.dataloader.DataLoader")
def _loader(call: Call) -> Value | None:
    data, collate = call.m.see(call.argument(0, "dataset")), call.m.see(call.kwargs.get("collate_fn", NONE))
    getter = lineage.member(data.cls, "__getitem__") if isinstance(data, Object) else None
    collates = isinstance(collate, (Bound, Function, Object))
    says = isinstance(data, Object) and lineage.is_dataset(data.cls)  # what makes one has read it then
    if isinstance(getter, Function) and (collates or not says):
        events.dataset(call.m, getter, data, collate if collates else NONE, True, call.site)
    if isinstance(data, Object) and isinstance(lineage.member(data.cls, "__iter__"), Function) and getter is None:
        _gather(call, data, collate)
    batched = not call.kwargs.keys() & _OWN and call.m.see(call.kwargs.get("batch_size", Tuple(()))) != NONE
    known = batched and isinstance(data, Object) and data.cls == DATASET and len(call.args) <= 3
    return Object(LOADER, {"dataset": data}) if known else None


def _gather(call: Call, data: Object, collate: Value) -> None:
    """Put what an iterable dataset yields together: all of a batch has been yielded by then."""
    m, size = call.m, constant(call.m.see(call.argument(1, "batch_size")))
    if not isinstance(size, int) or size < 2:
        return
    batch = m.call(Ref("builtins.list"), [data], {}, call.site)
    if collate != NONE:
        m.call(collate, [batch], {}, call.site)
        return
    items = m.state.get(batch).items if isinstance(batch, List) else ()
    rows = [each.items if isinstance(each, Tuple) else (each,) for each in map(m.see, items)]
    for column in zip(*rows, strict=False):
        m.call(Ref("torch.stack"), [List(list(column))], {}, call.site)


def yielded(m: Trace, instance: Object) -> Value | None:
    """Return what iteration over a dataset or loader yields next: views of its tensors, or copies of their rows."""
    if instance.cls not in (DATASET, LOADER):
        return None
    contents = m.state.get(instance).items
    if instance.cls == DATASET:
        held = m.see(contents["tensors"])
        return Tuple(tuple(tensors.view(m, tensor) for tensor in _tensors(m, held)))
    held = m.see(contents["dataset"])
    assert isinstance(held, Object)
    return List([_batch(m, tensor) for tensor in _tensors(m, m.see(m.state.get(held).items["tensors"]))])


def _tensors(m: Trace, held: Value) -> list[Tensor]:
    items = held.items if isinstance(held, Tuple) else ()
    return [item for item in map(m.see, items) if isinstance(item, Tensor)]


def _batch(m: Trace, tensor: Tensor) -> Tensor:
    """Return rows of a tensor, which the loader puts together to a new one."""
    made = tensors.fresh()
    made.origin, made.dtype, made.dims = Source.COMPUTED, tensor.dtype, tensor.dims
    made.made = Origin("stack", (tensor,), m.clock)
    return made
