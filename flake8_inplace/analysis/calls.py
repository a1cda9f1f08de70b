"""Calls: what a callee's value is, and what calling it does. Local functions run in the interpreter."""

from __future__ import annotations

from dataclasses import dataclass

from ..torchfacts import modules
from ..torchfacts import ops as facts
from . import classes, containers, tensors
from .domain import (
    NONE,
    Array,
    Callable_,
    Cell,
    CellState,
    Const,
    Dict,
    Grad,
    List,
    Node,
    Object,
    Ref,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from .machine import Bound, Class, Function, Machine, Method, Partial, Site, Super, constant


@dataclass(frozen=True, slots=True)
class GradMode(Callable_):
    """A context manager or decorator that switches grad mode."""

    on: bool


_MODES = {
    "torch.no_grad": False,
    "torch.autograd.no_grad": False,
    "torch.inference_mode": False,
    "torch.library.custom_op": False,  # its implementation runs below autograd
    "torch.library.triton_op": False,
    "torch.enable_grad": True,
    "torch.autograd.enable_grad": True,
}
_TRANSPARENT = frozenset(
    "torch.jit.script torch.jit.ignore torch.jit.unused torch.jit.export torch.compile torch.jit.script_if_tracing "
    "functools.lru_cache functools.wraps functools.cache torch._dynamo.disable torch.compiler.disable "
    "torch.autograd.Variable torch.jit.annotate typing.cast".split()
)
STRANGER = Ref("an unknown class")
CONTEXT = Ref("torch.autograd.function.FunctionCtx")
OPTIMIZERS = frozenset(
    f"torch.optim.{name}"
    for name in "Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS Muon NAdam RAdam RMSprop Rprop SGD".split()
)
_NO_TENSOR = ("numpy.", "math.", "random.", "os.", "time.", "np.", "pandas.", "logging.", "json.", "re.")


def grad_mode_of(name: str) -> bool | None:
    """What a decorator or context manager of this name sets grad mode to, if that is what it does."""
    return _MODES.get(name)


def call(m: Machine, callee: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call any value."""
    callee = m.see(callee)
    if isinstance(callee, Unknown) and callee.default is not None:
        callee = m.see(callee.default)
    match callee:
        case Function():
            return m.run(callee, args, kwargs, site)
        case Bound():
            return m.run(callee.function, [callee.receiver, *args], kwargs, site)
        case Method():
            return call_method(m, callee, args, kwargs, site)
        case Class():
            return classes.instantiate(m, callee, args, kwargs, site)
        case Partial():
            return call(m, callee.function, [*callee.args, *args], {**callee.kwargs, **kwargs}, site)
        case Ref():
            return call_ref(m, callee.name, args, kwargs, site)
        case Object():
            return call_object(m, callee, args, kwargs, site)
        case Tensor() | Const() | Tuple() | List() | Dict():
            return Unknown()
    if hasattr(callee, "options"):
        return m.split([callee], lambda options: call(m, options[0], args, kwargs, site))
    if isinstance(callee, GradMode):
        return args[0] if args else callee
    if isinstance(callee, Unknown) and callee.scalar:
        return Unknown(scalar=True)
    return _module_call(m, callee, args, kwargs, site)


def _module_call(m: Machine, module: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call something unknown; if its ``parameters()`` were asked for before, it is a module and saves them."""
    values = [module, *args, *kwargs.values()]
    parameter = m.see(m.symbols.get(("parameter", module), NONE))
    if not isinstance(parameter, Tensor) or not m.grad_mode:
        return tensors.unknown_call(m, *values)
    saved = tensors.keep(m, "this module", "parameters", parameter.storage, site)
    node = Node("module", (saved,), m.history(*values))
    return Unknown(Grad.YES, node, likely=any(isinstance(m.see(arg), Tensor) for arg in args))


def call_object(m: Machine, instance: Object, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    if instance.cls == STRANGER:
        if ("parameter", instance) in m.symbols:
            return _module_call(m, instance, args, kwargs, site)
        result = tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.MAYBE if args else Grad.NO)
        result.likely = any(isinstance(m.see(a), Tensor) for a in args)
        return result
    for base in classes.lineage(instance.cls):
        own = isinstance(classes.member(instance.cls, "forward"), Function)
        if isinstance(base, Ref) and base.name == "torch.nn.Sequential" and not own:
            return _sequential(m, instance, args, site)
    return classes.call(m, instance, args, kwargs, site)


def _sequential(m: Machine, instance: Object, args: list[Value], site: Site) -> Value:
    value = args[0] if args else Unknown()
    for item in containers.elements(m, m.state.get(instance).items.get("items", NONE))[0]:
        value = call(m, item, [value], {}, site)
    return value


def call_method(m: Machine, bound: Method, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call a method that the file does not define."""
    receiver, name = m.see(bound.receiver), bound.name
    match receiver:
        case Tensor():
            return tensors.method(m, receiver, name, args, kwargs, site)
        case List():
            return containers.list_method(m, receiver, name, args)
        case Dict():
            return containers.dict_method(m, receiver, name, args, kwargs)
        case Object():
            return object_method(m, receiver, name, args, kwargs, site)
        case Super():
            return super_method(m, receiver, name, args, kwargs, site)
        case Unknown() if not receiver.scalar:
            return unknown_method(m, receiver, name, args, kwargs, site)
        case Array():
            views = name in ("reshape", "view", "transpose", "squeeze", "ravel", "swapaxes")
            return receiver if views else Unknown(scalar=True)
        case Const() | Unknown():
            return Unknown(scalar=True)
    if hasattr(receiver, "options"):
        return m.split([receiver], lambda v: call_method(m, Method(v[0], name, bound.node), args, kwargs, site))
    return tensors.unknown_call(m, receiver, *args, *kwargs.values())


def unknown_method(
    m: Machine, receiver: Unknown, name: str, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    if name in facts.tensor_only_methods() or (receiver.likely and name in facts.tensor_methods()):
        tensor = m.promote(receiver)
        if isinstance(tensor, Tensor):
            return tensors.method(m, tensor, name, args, kwargs, site)
    if name == "parameters" and not args:
        return List([_parameter_of(m, receiver)], open=True)
    if name in facts.scalar_methods() and name not in ("values", "indices"):
        return m.symbol(receiver, name, *args, scalar=True)
    return tensors.unknown_call(m, receiver, *args, *kwargs.values())


def _parameter_of(m: Machine, module: Value) -> Value:
    """The one tensor that stands for all parameters of a module whose class is not in this file."""
    symbol = m.symbol("parameter", module, grad=Grad.YES)
    m.promoted.setdefault(symbol, Tensor(cell=Cell(Grad.YES)))
    return m.promote(symbol)


def object_method(
    m: Machine, instance: Object, name: str, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    """Methods that nn.Module, its containers and the optimizers bring along."""
    contents = m.state.get(instance).items
    if name in ("forward", "__call__"):
        return call_object(m, instance, args, kwargs, site)
    if name == "apply" and isinstance(instance.cls, Class) and classes.inherits(instance.cls, classes.FUNCTION):
        return custom_function(m, instance.cls, args, kwargs, site)
    if instance.cls == CONTEXT and name in ("save_for_backward", "mark_dirty"):
        kept = "saved_tensors" if name == "save_for_backward" else "dirty"
        classes.set_attribute(m, instance, kept, Tuple(tuple(args)), site)
        return NONE
    if "items" in contents and name in ("append", "extend", "insert"):
        items = m.see(contents["items"])
        return containers.list_method(m, items, name, args) if isinstance(items, List) else NONE
    if "items" in contents and name in ("keys", "values", "items"):
        items = m.see(contents["items"])
        return containers.dict_method(m, items, name, args, kwargs) if isinstance(items, Dict) else items
    if instance.cls == STRANGER and name == "parameters":
        return List([_parameter_of(m, instance)], open=True)
    if name == "step":
        return optimizer_step(m, instance, args, site)
    if name == "load_state_dict":
        for tensor in classes.held(m, instance, set()):
            if m.cell(tensor).leaf:
                m.write(tensor.storage, "step", site)
        return NONE
    if name in ("parameters", "named_parameters"):
        own = list(classes.parameters(m, instance))
        found: list[Value] = list(own) if name == "parameters" else [Tuple((Unknown(scalar=True), p)) for p in own]
        return List(found)
    if name in ("buffers", "named_buffers"):
        held = list(classes.buffers(m, instance))
        pairs: list[Value] = list(held) if name == "buffers" else [Tuple((Unknown(scalar=True), b)) for b in held]
        return List(pairs)
    if name == "register_buffer" and len(args) > 1:
        classes.set_attribute(m, instance, str(constant(args[0])), args[1], site)
        return NONE
    if (name == "register_parameter" and len(args) > 1) or (name == "add_module" and len(args) > 1):
        classes.set_attribute(m, instance, str(constant(args[0])), args[1], site)
        return NONE
    if name in ("train", "eval"):
        on = name == "train" and (not args or constant(args[0]) is not False)
        for module in classes.submodules(m, instance):
            classes.set_attribute(m, module, "training", Const(on), site)
        return instance
    if name == "reset_parameters":
        for tensor in classes.held(m, instance, set()):
            m.write(tensor.storage, "step", site)
        return NONE
    if name in ("to", "cuda", "cpu", "half", "float", "double", "type", "bfloat16", "requires_grad_"):
        if name == "requires_grad_" and args and constant(args[0]) is False:
            for tensor in classes.parameters(m, instance):
                tensors.require_grad(m, tensor, False)
        return instance
    if name in ("children", "modules"):
        return List([v for v in contents.values() if isinstance(v, Object)], open=True)
    if name in ("zero_grad", "register_forward_hook", "share_memory", "register_full_backward_hook"):
        return NONE
    return tensors.unknown_call(m, *args, *kwargs.values())


def optimizer_step(m: Machine, optimizer: Object, args: list[Value], site: Site) -> Value:
    """``optimizer.step()`` overwrites every parameter; a fused one does so behind the version counter's back."""
    contents = m.state.get(optimizer).items
    if args and isinstance(first := m.see(args[0]), (Function, Bound)):
        call(m, first, [], {}, site)
    elif args and isinstance(first, Object) and "params" in m.state.get(first).items:
        return optimizer_step(m, first, [], site)  # GradScaler.step(optimizer)
    stepping = m.state.modes.get("backward", False)  # without gradients a step leaves every parameter alone
    if stepping and "params" in contents and constant(contents.get("fused", NONE)) is not True:
        for tensor in classes.parameters(m, contents["params"]):
            m.write(tensor.storage, "step", site)
    return NONE


def super_method(m: Machine, value: Super, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """A method of a base class that the file does not define."""
    receiver = value.receiver
    if not isinstance(receiver, Object):
        return tensors.unknown_call(m, *args, *kwargs.values())
    if name == "__init__":
        for base in classes.lineage(value.owner):
            if isinstance(base, Ref) and (built := classes.build(m, base.name, args, kwargs)) is not None:
                for key, item in m.state.get(built).items.items():
                    classes.set_attribute(m, receiver, str(key), item, site)
                break
        return NONE
    if name in ("forward", "__call__"):
        for base in classes.lineage(value.owner):
            if isinstance(base, Ref):
                if base.name == "torch.nn.Sequential":
                    return _sequential(m, receiver, args, site)
                fact = modules.lookup(base.name)
                if fact is not None:
                    return classes.call_fact(m, receiver, fact, args, kwargs, site)
        return tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.MAYBE)
    return object_method(m, receiver, name, args, kwargs, site)


def custom_function(m: Machine, cls: Class, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """``Function.apply``: the forward runs without grad mode; what it hands to ``save_for_backward`` is saved."""
    forward = classes.member(cls, "forward")
    context = Object(CONTEXT)
    enabled = m.grad_mode
    m.state.set(m.state.modes, "grad", False)
    if isinstance(forward, Function):
        with_context = classes.member(cls, "setup_context") is None
        result = m.run(forward, [context, *args] if with_context else args, kwargs, site)
    else:
        result = tensors.unknown_call(m, *args)
    m.state.set(m.state.modes, "grad", enabled)
    grad = max((tensors.reach(m, a) for a in args), default=Grad.NO) if enabled else Grad.NO
    saved = m.see(m.state.get(context).items.get("saved_tensors", NONE))
    if not grad:
        return result
    saves = []
    inputs = [m.see(a) for a in args]
    for item in tensors.tensors_in(m, saved):
        slot = "result" if item in tensors.tensors_in(m, result) else "input"
        saves.append(tensors.keep(m, cls.name, slot, item.storage, site))
    node = Node(cls.name, tuple(saves), m.history(*inputs))
    for tensor in tensors.tensors_in(m, m.state.get(context).items.get("dirty", NONE)):
        m.state.put(tensor.cell, CellState(grad, node, False))
    return _outputs(m, result, grad, node)


def _outputs(m: Machine, result: Value, grad: Grad, node: Node) -> Value:
    """What a custom function returned, as its caller sees it: with a grad_fn."""
    result = m.see(result)
    if isinstance(result, Tuple):
        return Tuple(tuple(_outputs(m, item, grad, node) for item in result.items))
    if isinstance(result, Tensor) and m.cell(result).node is not node:
        return Tensor(result.storage, Cell(grad, node, leaf=False))
    if isinstance(result, Unknown) and not result.scalar:
        return Unknown(grad, node, likely=True)
    return result


def call_ref(m: Machine, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call something imported or built in."""
    if name in _MODES and not name.startswith("torch.library."):
        if name == "torch.inference_mode" and args and constant(args[0]) is False:
            return GradMode(True)
        return GradMode(_MODES[name]) if not args or not isinstance(args[0], (Function, Bound)) else args[0]
    if name in ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"):
        on = constant(args[0]) is not False if args else True
        m.state.set(m.state.modes, "grad", on)
        return GradMode(on)
    if name == "torch.is_grad_enabled":
        return Const(m.grad_mode)
    if name in _TRANSPARENT:
        return args[-1] if args else Ref("functools.wraps")
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
        return parameter(m, args, kwargs)
    if name in ("torch.autograd.backward",):
        tensors.backward(m, args, kwargs)
        return NONE
    if name == "torch.autograd.grad":
        tensors.backward(m, args[:1], kwargs)
        again = constant(kwargs.get("create_graph", NONE)) is True
        grad, node = (Grad.YES, Node("grad", (), m.history(*args[:1]))) if again else (Grad.NO, None)
        return List([tensors.fresh(grad, node, not again), tensors.fresh(grad, node, not again)], open=True)
    if name.startswith("torch.utils.checkpoint.checkpoint") and args:
        return call(m, args[0], args[1:], {}, site)
    if name == "functools.partial" and args:
        return Partial(args[0], tuple(args[1:]), kwargs)
    if name in ("collections.OrderedDict", "dict") and args and isinstance(m.see(args[0]), (List, Tuple)):
        pairs = [m.see(pair) for pair in containers.elements(m, args[0])[0]]
        return Dict(
            {
                containers.key_of(p.items[0]) or index: p.items[1]
                for index, p in enumerate(pairs)
                if isinstance(p, Tuple) and len(p.items) == 2
            }
        )
    if name.startswith("torch.Tensor.") and args:
        return call_method(m, Method(m.promote(args[0]), name[13:], site.node), args[1:], kwargs, site)
    built = classes.build(m, name, args, kwargs)
    if built is not None:
        return built
    if name in OPTIMIZERS:
        params = args[0] if args else kwargs.get("params", NONE)
        return Object(Ref(name), {"params": params, "fused": kwargs.get("fused", NONE)})
    if name.rpartition(".")[2] == "GradScaler" and name.startswith("torch."):
        return Object(Ref("torch.optim.GradScaler"))
    ops = facts.lookup(name)
    if ops:
        enabled = m.grad_mode
        m.state.set(m.state.modes, "grad", enabled and not name.startswith("torch.nn.init."))  # which switches it off
        result = tensors.apply(m, ops, args, kwargs, site)
        m.state.set(m.state.modes, "grad", enabled)
        return result
    if name.startswith("builtins."):
        known = containers.builtin(m, name[9:], args, kwargs, site)
        if known is not None:
            return known
        return tensors.unknown_call(m, *args, *kwargs.values())
    if name.startswith(_NO_TENSOR):
        return Unknown(scalar=True)
    if name == "copy.deepcopy" and args:
        return classes.copied(m, args[0], {})
    last = name.rpartition(".")[2]
    if last[:1].isupper() and not any(isinstance(m.see(a), Tensor) for a in args):
        return Object(STRANGER, {f"init.{key}": value for key, value in kwargs.items()})
    return tensors.unknown_call(m, *args, *kwargs.values())


def parameter(m: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``nn.Parameter(data)``: a leaf over the memory of ``data``."""
    data = m.see(args[0]) if args else kwargs.get("data", NONE)
    on = constant(args[1] if len(args) > 1 else kwargs.get("requires_grad", NONE)) is not False
    storage = data.storage if isinstance(data, Tensor) else Storage()
    return Tensor(storage, Cell(Grad.YES if on else Grad.NO))
