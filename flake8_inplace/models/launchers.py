"""accelerate and Lightning Fabric: the models, optimizers and loaders that they return are those that they are given.

On one device, that is. ``tests/test_libraries.py`` runs those that are installed.
"""

from __future__ import annotations

from ..heap.values import Object, Ref, Tuple, Value
from ..trace.callables import Method
from .registry import Call, method, model

ACCELERATOR, FABRIC = "accelerate.Accelerator", "lightning.fabric.Fabric"
CLASSES = (ACCELERATOR, FABRIC)


@model(ACCELERATOR, "accelerate.accelerator.Accelerator")
def _accelerator(call: Call) -> Value:
    return Object(Ref(ACCELERATOR))


@model(
    *(FABRIC, "lightning.Fabric", "lightning.fabric.fabric.Fabric"),
    *("lightning_fabric.Fabric", "lightning_fabric.fabric.Fabric"),
)
def _fabric(call: Call) -> Value:
    return Object(Ref(FABRIC))


@method(ACCELERATOR, "prepare")
@method(FABRIC, "setup", "setup_optimizers", "setup_dataloaders")
def _all(call: Call, launcher: Object) -> Value | None:
    return Tuple(tuple(call.args)) if len(call.args) > 1 else _first(call, launcher)


@method(ACCELERATOR, "prepare_model", "prepare_optimizer", "prepare_data_loader", "prepare_scheduler", "unwrap_model")
@method(FABRIC, "setup_module")
def _first(call: Call, launcher: Object) -> Value | None:
    """The other arguments are options."""
    return call.args[0] if call.args else None


@method(ACCELERATOR, "backward")
@method(FABRIC, "backward")
def _backward(call: Call, launcher: Object) -> Value | None:
    loss = call.argument(0, "loss", call.argument(0, "tensor"))
    return call.m.call(Method(loss, "backward", call.site.node), [], {}, call.site)
