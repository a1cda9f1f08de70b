"""Values of which nothing is known: what calling one, or one of its methods, does."""

from __future__ import annotations

from ..heap.values import NONE, Cell, Const, Dict, Grad, List, Node, Tensor, Tuple, Unknown, Value, constant, is_number
from ..torchfacts import ops as facts
from ..trace import devices, events, holdings
from ..trace.trace import MODULES, OPTIMIZERS, Trace
from . import gradients, handed, methods, operators, optim, tensors
from .overloads import bind
from .registry import Call


def unknown_module(call: Call, module: Value) -> Value:
    """Call something unknown; if its ``parameters()`` were asked for before, it is a module and saves them."""
    m, values = call.m, [module, *call.values]
    if ("state", module) in m.symbols:
        m.state.set(m.state[MODULES], module, True)  # it has a state and is called
    parameter = m.see(m.symbols.get(("parameter", module), NONE))
    if not isinstance(parameter, Tensor) or not m.grad_mode or m.state.modes.get("autocast"):
        return tensors.unknown_call(m, *values)
    saved = operators.keep(m, "this module", "parameters", parameter.storage, call.site)
    node = Node("module", (saved,), m.history(*values))
    return Unknown(Grad.YES, node, likely=any(isinstance(m.see(arg), Tensor) for arg in call.args))


def parameter_of(m: Trace, module: Value, *others: str) -> Value:
    """A tensor that stands for all parameters of a module whose class is not in this file, or for the ``others``."""
    symbol = m.symbol("parameter", module, *others, grad=Grad.YES)
    m.tensors.setdefault(symbol, Tensor(cell=Cell(Grad.YES)))
    return m.promote(symbol)


def parameters_of(m: Trace, module: Value, name: str) -> Value:
    """What ``parameters()`` or ``named_parameters()`` returns for a module whose class is not in this file."""
    found = [parameter_of(m, module), parameter_of(m, module, "other")]
    if name == "named_parameters":
        found = [Tuple((m.symbol("name", module, at, scalar=True), one)) for at, one in enumerate(found)]
    return List(found, open=True)


def state_of(call: Call, module: Value) -> Dict:
    """What ``state_dict()`` returns for a module of which no tensor is known: two stand for all, by reference."""
    m = call.m
    m.symbol("state", module)
    if ("parameter", module) in m.symbols:
        held = [parameter_of(m, module), parameter_of(m, module, "other")]
    else:
        held = [m.tensor_of(m.symbol("state", module, at)) for at in range(2)]
    made = [tensors.detached(m, tensor) for tensor in held if isinstance(tensor, Tensor)]
    state = Dict(dict(zip(("*", "**"), made, strict=False)), open=True, time=m.tick())
    events.state_dict(m, module, state, call.site)
    return state


def unknown_method(call: Call, receiver: Unknown) -> Value:
    """Call a method of something unknown, which may prove it to be a tensor."""
    m, name = call.m, call.name
    if name == "backward":
        gradients.backward(m, [receiver], call.kwargs, call.site)
        return NONE
    if name in facts.tensor_only_methods() or (receiver.likely and name in facts.tensor_methods()):
        if not _suits_a_tensor(call):
            return tensors.unknown_call(m, receiver, *call.values)
        tensor = m.promote(receiver)
        if isinstance(tensor, Tensor):
            return methods.method(m, tensor, name, call.args, call.kwargs, call.site)
    if (result := _of_module(call, receiver)) is not None:
        return result
    if name in facts.scalar_methods() and name not in ("values", "indices"):
        return m.symbol(receiver, name, *call.args, scalar=True)
    others = [m.see(value) for value in call.values]
    plain = all(isinstance(each, Const) or is_number(each) or devices.is_device(m, each) for each in others)
    if tensors.is_method(name) and plain:
        result = _if_tensor(call, receiver)
        if name in ("to", "cuda", "cpu"):  # a module returns itself
            devices.move(m, call.argument(0, "device") if name == "to" else Const(name), receiver, result)
        return result
    if not name.startswith("register_"):
        handed.may_call(call)
    return tensors.unknown_call(m, receiver, *call.values)


def _suits_a_tensor(call: Call) -> bool:
    """Whether tensors have a method that takes these arguments. ``out.set_(key, tensor)`` is for a table."""
    args = [call.m.see(value) for value in call.args]
    if args and isinstance(constant(args[0]), str):
        return False
    ops = facts.lookup(f"Tensor.{call.name}")
    return bool(call.kwargs) or not ops or any(bind(call.m, op, [Unknown(), *args], {}) is not None for op in ops)


def _of_module(call: Call, receiver: Unknown) -> Value | None:
    """Call a method that only modules and optimizers have; None for any other."""
    m, name = call.m, call.name
    if name == "state_dict":
        return state_of(call, receiver)
    if name == "load_state_dict":
        if receiver in m.state[MODULES]:
            events.load_state_dict(m, receiver, call.argument(0), holdings.parameters(m, receiver), call.site)
        events.update(m, call.site, frozenset())
        return Unknown(scalar=True)
    if name in ("parameters", "named_parameters"):
        return parameters_of(m, receiver, name)
    return of_optimizer(call, receiver)


def of_optimizer(call: Call, receiver: Value) -> Value | None:
    """Call a method that only optimizers have, ``step`` of one that has a ``zero_grad``; None for any other."""
    m = call.m
    if call.name == "zero_grad":
        m.state.set(m.state[OPTIMIZERS], receiver, True)
        optim.zero_grad(call, m.state[gradients.READ])
        return NONE
    if call.name != "step":
        return None
    if m.state.modes.get("backward"):
        events.update(m, call.site, frozenset())
    return NONE


def _if_tensor(call: Call, receiver: Unknown) -> Value:
    """Call a method that tensors have and others may have too: ``t.exp()``.

    The result is unknown. If its use proves it to be a tensor, it is what the method makes of one. A method
    with tensors for arguments may be one of integers, for which nothing is saved: ``tokens.gather(1, rank)``.
    What requires no grad of a tensor has no history either: ``t.new(3)``.
    """
    m = call.m
    result = tensors.unknown_call(m, receiver, *call.values)
    made = methods.method(m, m.tensor_of(receiver), call.name, call.args, call.kwargs, call.site)
    if isinstance(made, Tensor):
        if not m.grad(made):
            result = Unknown()
        m.tensors[result] = made
    return result
