"""Optimizers: how they are made, and what a step does."""

from __future__ import annotations

from ..heap.values import NONE, Dict, List, Object, Ref, Tensor, Unknown, Value, View, constant
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import events, holdings
from ..trace.callables import Bound
from ..trace.frames import Function
from ..trace.trace import Trace
from . import overloads
from .registry import Call, method, model

OPTIMIZER = "torch.optim.Optimizer"
GRAD_SCALER = "torch.amp.GradScaler"
SCALER = Ref("torch.optim.GradScaler")
"""The class of gradient scalers. It stands beside the optimizers, as it has a ``step`` too."""
_LBFGS = Ref("torch.optim.LBFGS")


def optimizer(m: Trace, name: str, params: Value, options: dict[str, Value]) -> Object:
    """Make an optimizer of these parameters, or groups of parameters."""
    params = m.see(params)
    given = m.state.get(params).items if isinstance(params, List) else ()
    groups = list(given) if given and isinstance(m.see(given[0]), Dict) else [Dict({"params": params, **options})]
    attributes: dict[str, Value] = {"params": params, "fused": options.get("fused", NONE)}
    return Object(Ref(name), {**attributes, "param_groups": List(groups), "state": Unknown()})


@method(OPTIMIZER, "step")
def _step(call: Call, instance: Object) -> Value:
    _optimizer_step(call.m, instance, call.args, call.site)
    return NONE


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
        events.update(m, site)
        form = "fused" if constant(contents.get("fused", NONE)) is True else "step"
        for tensor in holdings.parameters(m, contents["params"]):
            _update(m, tensor, form, site)
    if isinstance(closure, (Function, Bound)) and optimizer.cls == _LBFGS:
        m.call(closure, [], {}, site)  # once more, with the parameters that it has moved to


def _update(m: Trace, tensor: Tensor, form: str, site: Site) -> None:
    if tensor.view is View.EXPANDED:
        m.refuse("expand", site, other=tensor.place)
    else:
        events.write(m, tensor.storage, form, site)


@model("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.cpu.amp.GradScaler")
@model("torch.cpu.amp.grad_scaler.GradScaler", "torch.cuda.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler")
def _grad_scaler(call: Call) -> Value:
    return Object(SCALER)


@method(GRAD_SCALER, "scale")
def _scale(call: Call, instance: Object) -> Value | None:
    if not call.args:
        return None
    product = facts.lookup("Tensor.mul")
    return overloads.apply(call.m, product, [call.args[0], Unknown(scalar=True)], {}, call.site)
