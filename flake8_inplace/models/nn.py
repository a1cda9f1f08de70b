"""Modules of torch.nn and optimizers: how they are made, and what a call of one does."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cache

from ..heap.values import (
    ITEMS,
    NONE,
    Attributes,
    Cell,
    Const,
    Dict,
    Grad,
    List,
    Object,
    Ref,
    Tensor,
    Tuple,
    Value,
    View,
    constant,
)
from ..program.site import Site
from ..torchfacts import modules
from ..torchfacts import ops as facts
from ..torchfacts.kinds import CONVOLUTIONS
from ..torchfacts.notation import Param
from ..torchfacts.refusals import negative_options
from ..trace import events
from ..trace.frames import Function
from ..trace.log import Written
from ..trace.trace import Trace
from . import overloads, parametrizations, shapes, tensors
from .lineage import DICTS, LISTS, MODULE, OPTIMIZERS, PACKED, PARALLEL, is_module, lineage, member
from .optim import optimizer
from .records import as_list, as_tuple, dictionary, entries, packed, replaced
from .registry import Call, model


def build(m: Trace, name: str, args: list[Value], kwargs: dict[str, Value]) -> Object | None:
    """Make an instance of a torch.nn class, or None where its class is not known."""
    if name in LISTS:
        return _module_list(m, name, args)
    if name in DICTS:
        pairs = args and isinstance(m.see(args[0]), (List, Tuple))
        return Object(Ref(name), {ITEMS: dictionary(m, args, {}) if pairs else args[0] if args else Dict()})
    if name == MODULE:
        return Object(Ref(name))
    if name in OPTIMIZERS:
        return optimizer(m, name, args[0] if args else kwargs.get("params", NONE), kwargs)
    fact = modules.lookup(name)
    return _layer(name, fact, args, kwargs) if fact is not None else None


def _module_list(m: Trace, name: str, args: list[Value]) -> Object:
    one = len(args) == 1 and isinstance(m.see(args[0]), (List, Tuple, Dict))
    items: Value = args[0] if one else Tuple(tuple(args))
    if name == "torch.nn.Sequential" and args and not isinstance(m.see(args[0]), Dict):
        items = List(args)
    named = entries(m, items).items if isinstance(m.see(items), Dict) else {}
    held = as_list(m, items)
    if isinstance(held, List) and held is not m.see(items):  # made here: on other paths, there is none
        held.noted = True
        m.state.put(held, held.initial)
    return Object(Ref(name), {**named, ITEMS: held})


def _layer(name: str, fact: modules.ModuleFact, args: list[Value], kwargs: dict[str, Value]) -> Object:
    options: dict[str, Value] = {key: Const(value) for key, value in dict(fact.defaults).items()}
    options |= dict(zip(fact.init, args, strict=False)) | kwargs
    attributes: dict[str, Value] = {f"init.{key}": value for key, value in options.items()}
    known = {key: value.value for key, value in options.items() if isinstance(value, Const)}
    for parameter in fact.parameters:
        attributes[parameter] = Tensor(cell=Cell(Grad.YES)) if fact.has(parameter, known) else NONE
    for buffer in fact.buffers:
        attributes[buffer] = Tensor()
    return Object(Ref(name), attributes)


@model(*PARALLEL)
def _parallel(call: Call) -> Value | None:
    return Object(Ref(call.name), {"module": call.args[0]}) if call.args else None


@model("torch.nn.Embedding.from_pretrained", "torch.nn.EmbeddingBag.from_pretrained")
def _from_pretrained(call: Call) -> Value | None:
    """Make an embedding whose weight has the memory of the given vectors. It is frozen, unless told not to be."""
    vectors, frozen = call.m.see(call.argument(0, "embeddings")), constant(call.argument(1, "freeze")) is not False
    options = {key: value for key, value in call.kwargs.items() if key not in ("embeddings", "freeze")}
    layer = build(call.m, call.name.rpartition(".")[0], [], options)
    if layer is not None and isinstance(vectors, Tensor):
        cell = Cell(Grad.NO if frozen else Grad.YES)
        weight = Tensor(vectors.storage, cell, View.NONE, vectors.contiguous, dtype=vectors.dtype)
        call.m.state.put(layer, Attributes({**call.m.state.get(layer).items, "weight": weight}))
    return layer


@model("torch.nn.utils.rnn.pack_sequence", "torch.nn.utils.rnn.pack_padded_sequence")
def _pack(call: Call) -> Value | None:
    if not call.args:
        return None
    history = tensors.unknown_call(call.m, call.args[0])
    return packed(call.m, tensors.fresh(history.grad, history.node, False))


@model("torch.nn.utils.rnn.pad_packed_sequence")
def _pad_packed(call: Call) -> Value | None:
    if not call.args:
        return None
    history = tensors.unknown_call(call.m, as_tuple(call.m, call.seen(0)))
    return Tuple((tensors.fresh(history.grad, history.node, False), tensors.fresh()))


@model("torch.nn.functional.triplet_margin_with_distance_loss")
def _triplet_margin(call: Call) -> Value | None:
    """A loss of a distance that the program defines."""
    distance = call.m.see(call.kwargs.get("distance_function", NONE))
    anchor, positive, negative = (call.argument(i, name) for i, name in enumerate(("anchor", "positive", "negative")))
    if distance == NONE:
        return None
    near, far = (call.m.call(distance, [anchor, other], {}, call.site) for other in (positive, negative))
    return overloads.apply(call.m, facts.lookup("torch.sub"), [near, far], {}, call.site)


def call(m: Trace, instance: Object, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """``instance(...)``."""
    for name in ("__call__", "forward"):
        found = member(instance.cls, name)
        if isinstance(found, Function) and (name == "__call__" or is_module(instance.cls)):
            return m.run(found, [instance, *args], kwargs, site)
    for base in lineage(instance.cls):
        fact = modules.lookup(base.name) if isinstance(base, Ref) else None
        if fact is not None:
            return call_fact(m, instance, fact, args, kwargs, site)
    return tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.MAYBE)


def call_fact(
    m: Trace, instance: Object, fact: modules.ModuleFact, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    """Call an instance of a torch.nn class."""
    if args and isinstance(first := m.see(args[0]), Object) and first.cls == PACKED:
        result = call_fact(m, instance, fact, [m.state.get(first).items["data"], *args[1:]], kwargs, site)
        return (
            Tuple((replaced(m, first, {"data": result.items[0]}), *result.items[1:]))
            if isinstance(result, Tuple)
            else result
        )
    contents = m.state.get(instance).items
    op, form = fact.op, "op_"
    if fact.inplace is not None and constant(contents.get("inplace", contents.get("init.inplace", NONE))) is True:
        op, form = fact.inplace, "inplace"
    elif fact.indices is not None and constant(contents.get("init.return_indices", NONE)) is True:
        op = fact.indices
    own = {p.name: _own(m, contents, p.name[5:], site) for p in op.params if p.name.startswith("self.")}
    own |= {option: contents.get(option, Const(True) if option == "training" else NONE) for option in _options(op)}
    if contents.get("init.max_norm", NONE) != NONE and isinstance(weight := contents.get("weight"), Tensor):
        events.write(m, weight.storage, "renorm", site)
    inputs = [p.name for p in op.params if not p.name.startswith("self.")]
    named = {name: value for name, value in kwargs.items() if name in inputs}
    outer, m.stack.module = m.stack.module, instance.place
    result = overloads.apply(m, (_lenient(op),), args[: len(inputs)], named | own, site, form)
    m.stack.module = outer
    if constant(contents.get("training", NONE)) is not False:
        for statistic in [contents.get(name) for name in ("running_mean", "running_var")]:
            if isinstance(statistic, Tensor):  # past the version counter
                events.overwrite(m, statistic, "op_", site, Written("batch_norm", tuple(args)))
    return result


@cache
def _lenient(op: facts.Op) -> facts.Op:
    """An operator as a module calls it, which may have been made without some of its parameters."""
    kinds = {p.name: p.kind for p in op.params} | dict.fromkeys(_options(op), "other")
    return replace(op, params=tuple(Param(name, kind, True) for name, kind in kinds.items()), inplace=None)


def _options(op: facts.Op) -> list[str]:
    """The options that saves and refusals of a module depend on, by what they are in the module: ``init.p``."""
    conditions = [condition for save in op.saves for condition in save.when]
    padding = shapes.PADDING if op.name in CONVOLUTIONS else ()
    return [*(condition.option for condition in (*conditions, *op.identity)), *negative_options(op.name), *padding]


def _own(m: Trace, contents: Mapping[Hashable, Value], name: str, site: Site) -> Value:
    """A parameter of a module as its forward uses it: what its parametrizations make of it."""
    made = parametrizations.made(m, contents, name, site)
    return contents.get(name, NONE) if made is None else made
