"""Optimizers: how they are made, and what a step does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..heap.values import NONE, Cell, Dict, List, Object, Ref, Tensor, Unknown, Value, View, constant
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import events, holdings
from ..trace.callables import Bound
from ..trace.frames import Function
from ..trace.trace import Trace
from . import gradients, lineage, overloads
from .registry import Call, method, model

OPTIMIZER = "torch.optim.Optimizer"
GRAD_SCALER = "torch.amp.GradScaler"
SCALER = Ref("torch.optim.GradScaler")
"""The class of gradient scalers. It stands beside the optimizers, as it has a ``step`` too."""
_SGD = Ref("torch.optim.SGD")
_STATE = frozenset({"state"})
_MOMENTS = ("exp_avg", "exp_avg_sq")
KEPT = {
    **dict.fromkeys(("Adam", "AdamW", "NAdam", "RAdam"), _MOMENTS),
    "Adamax": ("exp_avg", "exp_inf"),
    "SGD": ("momentum_buffer",),
    "RMSprop": ("square_avg",),
    "Adagrad": ("sum",),
    "Adadelta": ("square_avg", "acc_delta"),
}
"""The tensors that an optimizer keeps for each parameter and overwrites in each step."""
_SLOTS = frozenset(slot for slots in KEPT.values() for slot in slots)
_LBFGS = Ref("torch.optim.LBFGS")


def optimizer(m: Trace, name: str, params: Value, options: dict[str, Value]) -> Object:
    """Make an optimizer of these parameters, or groups of parameters."""
    params = m.see(params)
    given = m.state.get(params).items if isinstance(params, List) else ()
    groups = list(given) if given and isinstance(m.see(given[0]), Dict) else [Dict({"params": params, **options})]
    attributes: dict[str, Value] = {"params": params, "fused": options.get("fused", NONE)}
    attributes["init.momentum"] = options.get("momentum", NONE)
    return Object(Ref(name), {**attributes, "param_groups": List(groups), "state": _states(m, name, params)})


def _states(m: Trace, name: str, params: Value) -> Dict:
    """Make ``optimizer.state``: what it keeps for each parameter, if the program asks for it."""
    kept = KEPT.get(name.rpartition(".")[2], ()) if m.text.file.mentions(_STATE) else ()
    owners = holdings.parameters(m, params) if kept else ()
    states = Dict({owner: Dict({slot: Tensor() for slot in kept}, open=True) for owner in owners}, open=True)
    states.factory = Ref("builtins.dict")
    return states


def _kept(m: Trace, states: Value) -> Iterator[Tensor]:
    """Yield the tensors of ``optimizer.state`` that a step overwrites."""
    states = m.see(states)
    for state in map(m.see, m.state.get(states).items.values()) if isinstance(states, Dict) else ():
        slots = m.state.get(state).items if isinstance(state, Dict) else {}
        yield from (kept for slot in _SLOTS.intersection(slots) if isinstance(kept := m.see(slots[slot]), Tensor))


@method(OPTIMIZER, "step")
def _step(call: Call, instance: Object) -> Value:
    _optimizer_step(call.m, instance, call.args, call.site)
    return NONE


@method(OPTIMIZER, "state_dict")
def _state_dict(call: Call, instance: Object) -> Value | None:
    """What an optimizer keeps of its gradients, by reference. One tensor stands for all of it."""
    if not lineage.optimizes(instance.cls):
        return None
    state = Dict({"state": Dict({0: Tensor()}, open=True)}, open=True)
    if instance.cls != _SGD or constant(call.m.state.get(instance).items.get("init.momentum", NONE)):
        events.state_dict(call.m, instance, state, call.site)
    return state


@method(OPTIMIZER, "load_state_dict")
def _load_state_dict(call: Call, instance: Object) -> Value | None:
    if not lineage.optimizes(instance.cls):
        return None
    events.load_state_dict(call.m, instance, call.argument(0), (), call.site)
    return NONE


@method(OPTIMIZER, "zero_grad")
def _zero_grad(call: Call, instance: Object) -> Value | None:
    if not lineage.optimizes(instance.cls):
        return None
    parameters = holdings.parameters(call.m, call.m.state.get(instance).items.get("params", NONE))
    zero_grad(call, [tensor.cell for tensor in parameters])
    return NONE


def zero_grad(call: Call, parameters: Iterable[Cell]) -> None:
    """``zero_grad()``, of a module or an optimizer."""
    if constant(call.argument(0, "set_to_none")) is False:
        gradients.zero(call.m, parameters, call.site)
    else:
        gradients.forget(call.m, parameters)


def _optimizer_step(m: Trace, optimizer: Object, args: list[Value], site: Site) -> None:
    """``optimizer.step()`` overwrites every parameter; a fused one does so behind the version counter's back."""
    contents = m.state.get(optimizer).items
    closure = m.see(args[0]) if args else NONE
    if isinstance(closure, (Function, Bound)):
        m.call(closure, [], {}, site)
    elif isinstance(closure, Object) and "params" in m.state.get(closure).items:
        _optimizer_step(m, closure, [], site)  # GradScaler.step(optimizer)
        return
    stepping = m.state.modes.get("backward", False)  # without gradients a step leaves every parameter alone
    if stepping and "params" in contents:
        events.step(m, optimizer, site)
        form = "fused" if constant(contents.get("fused", NONE)) is True else "step"
        stepped = holdings.parameters(m, contents["params"])
        events.update(m, site, frozenset(tensor.storage for tensor in stepped))
        for tensor in stepped:
            _update(m, tensor, form, site)
        for tensor in _kept(m, contents.get("state", NONE)):
            events.accumulate(m, tensor, "step", site)
    if isinstance(closure, (Function, Bound)) and optimizer.cls == _LBFGS:
        m.call(closure, [], {}, site)  # once more, with the parameters that it has moved to


def _update(m: Trace, tensor: Tensor, form: str, site: Site) -> None:
    if tensor.view is View.EXPANDED:
        m.refuse("expand", site, other=tensor)
    else:
        events.write(m, tensor.storage, form, site)


@model("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.cpu.amp.GradScaler")
@model("torch.cpu.amp.grad_scaler.GradScaler", "torch.cuda.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler")
def _grad_scaler(call: Call) -> Value:
    return Object(SCALER)


@method(GRAD_SCALER, "unscale_")
def _unscale(call: Call, instance: Object) -> None:
    if isinstance(unscaled := call.seen(0), Object):
        gradients.unscale(call.m, call.m.state.get(unscaled).items.get("params", NONE), call.site)


@method(GRAD_SCALER, "scale")
def _scale(call: Call, instance: Object) -> Value | None:
    if not call.args:
        return None
    product = facts.lookup("Tensor.mul")
    return overloads.apply(call.m, product, [call.args[0], Unknown(scalar=True)], {}, call.site)


@method(GRAD_SCALER, "state_dict")
def _scaler_state(call: Call, instance: Object) -> Value:
    """The scale and the factors, as numbers: nothing overwrites them in the dictionary."""
    return Dict({}, open=True, time=call.m.tick())


@method(GRAD_SCALER, "load_state_dict")
def _load_scaler_state(call: Call, instance: Object) -> Value:
    return NONE
