"""What calling a value does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..heap.join import choose
from ..heap.state import variables
from ..heap.values import (
    ITEMS,
    NONE,
    Array,
    Attributes,
    Cell,
    CellState,
    Choice,
    Const,
    Dict,
    Grad,
    Items,
    List,
    Node,
    Object,
    Ref,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    is_number,
)
from ..program import wording
from ..program.pieces import Piece
from ..program.site import Site
from ..torchfacts import modules
from ..torchfacts import ops as facts
from ..trace import events, holdings
from ..trace.callables import Bound, GradMode, Method, Packing, Partial, Super, Transform
from ..trace.frames import Class, Function
from ..trace.log import STORED
from ..trace.trace import BATCHED, MODULES, Trace
from . import (
    arithmetic,
    builtins,
    classes,
    containers,
    custom,
    iteration,
    lineage,
    methods,
    nn,
    operators,
    overloads,
    records,
    tensors,
)
from .lineage import STRANGER

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
_PACKING = frozenset({"torch.nn.utils.rnn.pack_sequence", "torch.nn.utils.rnn.pack_padded_sequence"})
_PARALLEL = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"}) | {
    f"torch.nn.parallel.{name}" for name in ("DistributedDataParallel", "distributed.DistributedDataParallel")
}
_REPARAMETRIZING = frozenset(
    f"torch.nn.utils.{name}"
    for name in "weight_norm spectral_norm parametrizations.weight_norm parametrizations.spectral_norm "
    "parametrizations.orthogonal remove_weight_norm remove_spectral_norm".split()
)
"""Functions that change how a module makes its weight, and return the module."""
SCALER = Ref("torch.optim.GradScaler")
LBFGS = Ref("torch.optim.LBFGS")
HANDLE = Ref("torch.utils.hooks.RemovableHandle")
_COMPILING = frozenset(
    "torch.jit.is_scripting torch.jit.is_tracing torch.onnx.is_in_onnx_export torch.compiler.is_compiling "
    "torch.compiler.is_exporting torch._dynamo.is_compiling".split()
)
"""Functions that say no where a program runs as it is written."""
_HOOKS = {f"register_{kind}_hook": kind for kind in ("forward", "forward_pre", "full_backward")}
_TRANSFORMS = {
    f"{package}.{name}": "vmap" if name == "vmap" else "grad"
    for package in ("torch", "torch.func", "functorch")
    for name in ("vmap", "grad", "grad_and_value", "jacrev", "hessian")
}
_DIFFERENTIATING = frozenset(f"torch.autograd.functional.{name}" for name in "jacobian hessian vjp hvp vhp".split())
"""Functions that are given a function, and its arguments as one value or as a tuple, and differentiate it."""
_FUNCTIONAL = frozenset({"torch.func.functional_call", "torch.nn.utils.stateless.functional_call"})
_SHARING = frozenset({"torch.from_numpy", "torch.from_dlpack", "torch.utils.dlpack.from_dlpack"})
_NO_TENSOR = ("numpy.", "math.", "random.", "os.", "time.", "np.", "pandas.", "logging.", "json.", "re.")


def grad_mode_of(name: str) -> bool | None:
    """What a decorator or context manager of this name sets grad mode to, if that is what it does."""
    return _MODES.get(name)


def call(m: Trace, callee: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call any value."""
    m.budget.call()
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
            made = classes.instantiate(m, callee, args, kwargs, site)
            getter = lineage.member(callee, "__getitem__")
            if isinstance(getter, Function) and any(lineage.inherits(callee, name) for name in lineage.DATASETS):
                events.dataset(m, getter, made, site)
            return made
        case Partial():
            return call(m, callee.function, [*callee.args, *args], {**callee.kwargs, **kwargs}, site)
        case Transform():
            return _transformed(m, callee, args, kwargs, site)
        case Ref():
            return _possibly(m, call_ref(m, callee.name, args, kwargs, site), args, kwargs, site)
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
    return _possibly(m, _module_call(m, callee, args, kwargs, site), args, kwargs, site)


def _asks_for_in_place(site: Site, kwargs: dict[str, Value]) -> bool:
    """Whether a call of unknown code looks as if it overwrote its argument."""
    return constant(kwargs.get("inplace", NONE)) is True or wording.called_name(site.expression).endswith("_")


def _possibly(m: Trace, result: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """What code that this file does not show may have done with its arguments, for whoever wants to know."""
    if "possible" not in m.extra or not isinstance(result, Unknown) or result.scalar:
        return result
    given = [tensor for arg in (*args, *kwargs.values()) for tensor in holdings.tensors_in(m, arg)]
    if given and _asks_for_in_place(site, kwargs):
        events.write(m, given[0].storage, "possible", site)
        return result
    saves = tuple(operators.keep(m, "this call", "argument", t.storage, site, True) for t in given if m.grad(t))
    if saves and m.grad_mode:
        result.node = Node("call", saves, (result.node,) if result.node is not None else ())
    return result


def _module_call(m: Trace, module: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call something unknown; if its ``parameters()`` were asked for before, it is a module and saves them."""
    values = [module, *args, *kwargs.values()]
    parameter = m.see(m.symbols.get(("parameter", module), NONE))
    if not isinstance(parameter, Tensor) or not m.grad_mode:
        return tensors.unknown_call(m, *values)
    saved = operators.keep(m, "this module", "parameters", parameter.storage, site)
    node = Node("module", (saved,), m.history(*values))
    return Unknown(Grad.YES, node, likely=any(isinstance(m.see(arg), Tensor) for arg in args))


def call_object(m: Trace, instance: Object, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call an instance, with the hooks that were registered on it."""
    contents = m.state.get(instance).items
    for hook in _hooks(m, contents, "hooks.forward_pre"):
        changed = m.see(call(m, hook, [instance, Tuple(tuple(args))], {}, site))
        if changed != NONE:
            args = list(changed.items) if isinstance(changed, Tuple) else [changed]
    watched = bool(_hooks(m, contents, "hooks.full_backward")) and m.grad_mode
    if watched:
        args = [tensors.hooked(m, arg) for arg in args]
    result = _unhooked(m, instance, args, kwargs, site)
    for hook in _hooks(m, contents, "hooks.forward"):
        changed = m.see(call(m, hook, [instance, Tuple(tuple(args)), result], {}, site))
        if changed != NONE:
            result = changed
    return tensors.hooked(m, result) if watched else result


def _hooks(m: Trace, contents: Mapping[Any, Value], kind: str) -> list[Value]:
    hooks = m.see(contents[kind]) if kind in contents else None
    return list(m.state.get(hooks).items) if isinstance(hooks, List) else []


def _register_hook(m: Trace, instance: Object, kind: str, args: list[Value], site: Site) -> Value:
    hooks = m.see(m.state.get(instance).items.get(f"hooks.{kind}", NONE))
    if not isinstance(hooks, List):
        hooks = List()
        classes.set_attribute(m, instance, f"hooks.{kind}", hooks, site)
    containers.list_method(m, hooks, "append", args[:1])
    if kind == "full_backward":
        _backpropagate(m, args[0], [instance, Tuple((Tensor(),))], site)
    return Object(HANDLE, {"hooks": hooks})


def _is_computed(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor surely has a ``grad_fn``: the gradient of a leaf reaches nobody after its hooks."""
    return m.grad(tensor) is Grad.YES and m.cell(tensor).node is not None


def _backpropagate(m: Trace, hook: Value, before: list[Value], site: Site) -> None:
    """Call a hook of the backward pass, for the one thing that it must not do: overwrite the gradient it is given.

    What it does besides happens at another time, and leaves no trace here.
    """
    if m.backward.readonly:
        return
    mark, grad = m.state.mark(), Tensor()
    m.state.set(m.state.modes, "grad", False)
    m.backward.readonly = {grad.storage: "grad_output"}
    call(m, hook, [*before, Tuple((grad,)) if before else grad], {}, site)
    m.backward.readonly = {}
    m.state.rollback(mark)


def _unhooked(m: Trace, instance: Object, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    if instance.cls == STRANGER:
        if ("parameter", instance) in m.symbols:
            return _module_call(m, instance, args, kwargs, site)
        result = tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.MAYBE if args else Grad.NO)
        result.likely = any(isinstance(m.see(a), Tensor) for a in args)
        return result
    if isinstance(instance.cls, Ref) and instance.cls.name in _PARALLEL:
        return call(m, m.state.get(instance).items["module"], args, kwargs, site)
    for base in lineage.lineage(instance.cls):
        own = isinstance(lineage.member(instance.cls, "forward"), Function)
        if isinstance(base, Ref) and base.name == "torch.nn.Sequential" and not own:
            return _sequential(m, instance, args, site)
    return nn.call(m, instance, args, kwargs, site)


def _sequential(m: Trace, instance: Object, args: list[Value], site: Site) -> Value:
    value = args[0] if args else Unknown()
    for item in iteration.elements(m, m.state.get(instance).items.get(ITEMS, NONE))[0]:
        item = m.see(item)
        result = call(m, item, [value], {}, site)
        if isinstance(item, Choice) and len(item.options) == 1:  # a layer that only some configurations have
            test = item.options[0][0] - m.state.guard()
            without = frozenset((symbol, not truth) for symbol, truth in test)
            result = choose([(test, result), (without, value)]) if len(test) == 1 else result
        value = result
    return value


def call_method(m: Trace, bound: Method, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call a method that the file does not define."""
    receiver, name = m.see(bound.receiver), bound.name
    match receiver:
        case Tensor():
            if name == "register_hook" and args and _is_computed(m, receiver):
                _backpropagate(m, args[0], [], site)
            return methods.method(m, receiver, name, args, kwargs, site)
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
        case Const(str()):
            return _string_method(m, receiver.value, name, args)
        case Const() | Unknown():
            return Unknown(scalar=True)
    if hasattr(receiver, "options"):
        return m.split([receiver], lambda v: call_method(m, Method(v[0], name, bound.node), args, kwargs, site))
    return tensors.unknown_call(m, receiver, *args, *kwargs.values())


def _string_method(m: Trace, text: str, name: str, args: list[Value]) -> Value:
    """A method of a string that is known, with arguments that are."""
    plain: list[object] = []
    if name in ("partition", "rpartition") and args and isinstance(given := constant(m.see(args[0])), str) and given:
        return Tuple(tuple(map(Const, getattr(text, name)(given))))
    for arg in map(m.see, args):
        items = arg.items if isinstance(arg, Tuple) else (arg,)
        if name not in _STRING_METHODS or not all(isinstance(i, Const) and arithmetic.is_small(i.value) for i in items):
            return Unknown(scalar=True)
        plain.append(tuple(map(constant, items)) if isinstance(arg, Tuple) else constant(arg))
    try:
        result = getattr(text, name)(*plain) if name in _STRING_METHODS and arithmetic.is_small(text) else None
    except (TypeError, ValueError):
        result = None
    if isinstance(result, list):
        return List([Const(part) for part in result])
    return Const(result) if result is not None else Unknown(scalar=True)


_STRING_METHODS = frozenset("startswith endswith lower upper strip split replace removeprefix removesuffix".split())


def _states(m: Trace, module: Unknown, name: str, args: list[Value], site: Site) -> Value:
    """``state_dict`` and ``load_state_dict`` of something unknown."""
    if name == "state_dict":
        states = Unknown()
        events.state_dict(m, module, states, site)
        return states
    if module in m.state[MODULES]:
        events.load_state_dict(m, module, args[0] if args else NONE, holdings.parameters(m, module))
    return Unknown(scalar=True)


def unknown_method(
    m: Trace, receiver: Unknown, name: str, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    if name == "backward":
        tensors.backward(m, [receiver], kwargs)
        return NONE
    if name in facts.tensor_only_methods() or (receiver.likely and name in facts.tensor_methods()):
        tensor = m.promote(receiver)
        if isinstance(tensor, Tensor):
            return methods.method(m, tensor, name, args, kwargs, site)
    if name in ("state_dict", "load_state_dict"):
        return _states(m, receiver, name, args, site)
    if name == "parameters" and not args:
        return List([_parameter_of(m, receiver)], open=True)
    if name in facts.scalar_methods() and name not in ("values", "indices"):
        return m.symbol(receiver, name, *args, scalar=True)
    others = [m.see(value) for value in (*args, *kwargs.values())]
    if tensors.is_method(name) and all(isinstance(other, Const) or is_number(other) for other in others):
        return _if_tensor(m, receiver, name, args, kwargs, site)
    return tensors.unknown_call(m, receiver, *args, *kwargs.values())


def _if_tensor(
    m: Trace, receiver: Unknown, name: str, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    """Call a method that tensors have and others may have too: ``t.exp()``.

    The result is unknown. If its use proves it to be a tensor, it is what the method makes of one. A method
    with tensors for arguments may be one of integers, for which nothing is saved: ``tokens.gather(1, rank)``.
    """
    result = tensors.unknown_call(m, receiver, *args, *kwargs.values())
    made = methods.method(m, m.tensor_of(receiver), name, args, kwargs, site)
    if isinstance(made, Tensor):
        m.tensors[result] = made
    return result


def _parameter_of(m: Trace, module: Value) -> Value:
    """The one tensor that stands for all parameters of a module whose class is not in this file."""
    symbol = m.symbol("parameter", module, grad=Grad.YES)
    m.tensors.setdefault(symbol, Tensor(cell=Cell(Grad.YES)))
    return m.promote(symbol)


def object_method(
    m: Trace, instance: Object, name: str, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    """Methods that nn.Module, its containers and the optimizers bring along."""
    contents = m.state.get(instance).items
    if name in ("forward", "__call__"):
        return call_object(m, instance, args, kwargs, site)
    if name == "_replace":
        return records.replaced(m, instance, kwargs)
    if name == "apply" and isinstance(instance.cls, Class) and lineage.inherits(instance.cls, lineage.FUNCTION):
        return custom.apply(m, instance.cls, args, kwargs, site)
    if instance.cls == custom.CONTEXT and name in ("save_for_backward", "mark_dirty"):
        return custom.method(m, instance, name, args, site)
    if ITEMS in contents and name in ("append", "extend", "insert"):
        items = m.see(contents[ITEMS])
        return containers.list_method(m, items, name, args) if isinstance(items, List) else NONE
    if ITEMS in contents and (name in ("keys", "values", "items") or not lineage.is_module(instance.cls)):
        items = m.see(contents[ITEMS])
        if isinstance(items, Dict):
            return containers.dict_method(m, items, name, args, kwargs)
        return containers.list_method(m, items, name, args) if isinstance(items, List) else items
    if instance.cls == STRANGER and name == "parameters":
        return List([_parameter_of(m, instance)], open=True)
    if name == "scale" and instance.cls == SCALER and args:
        return overloads.apply(m, facts.lookup("Tensor.mul"), [args[0], Unknown(scalar=True)], {}, site)
    if name == "step":
        return optimizer_step(m, instance, args, site)
    if lineage.optimizes(instance.cls):
        return NONE
    if name == "state_dict":
        states = Unknown()
        events.state_dict(m, instance, states, site)
        return states
    if name == "load_state_dict":
        events.load_state_dict(m, instance, args[0] if args else NONE, holdings.parameters(m, instance))
        for tensor in holdings.held(m, instance, set()):
            if m.cell(tensor).leaf:
                events.write(m, tensor.storage, "step", site)
        return NONE
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        wanted = name.endswith("parameters")
        held = [(key, tensor) for key, tensor in holdings.named(m, instance) if bool(m.grad(tensor)) is wanted]
        return List([Tuple((Const(key), tensor)) if name.startswith("named") else tensor for key, tensor in held])
    if name == "register_buffer" and len(args) > 1:
        classes.set_attribute(m, instance, str(constant(args[0])), args[1], site)
        return NONE
    if name in ("add_module", "register_module") and len(args) > 1 and ITEMS in contents:
        items = m.see(contents[ITEMS])
        return containers.list_method(m, items, "append", args[1:]) if isinstance(items, List) else NONE
    if name in ("register_parameter", "add_module", "register_module") and len(args) > 1:
        classes.set_attribute(m, instance, str(constant(args[0])), args[1], site)
        return NONE
    if name in ("train", "eval"):
        on = name == "train" and (not args or constant(args[0]) is not False)
        for module in holdings.submodules(m, instance):
            classes.set_attribute(m, module, "training", Const(on), site)
        return instance
    if name == "reset_parameters":
        for tensor in holdings.held(m, instance, set()):
            events.write(m, tensor.storage, "step", site)
        return NONE
    if name in ("to", "cuda", "cpu", "half", "float", "double", "type", "bfloat16", "requires_grad_"):
        if name == "requires_grad_" and args and constant(args[0]) is False:
            for tensor in holdings.parameters(m, instance):
                tensors.require_grad(m, tensor, False, site)
        return instance
    if name in ("children", "modules", "named_children", "named_modules"):
        every = name.endswith("modules")
        inside = holdings.named_modules(m, instance) if every else holdings.named_children(m, instance)
        named = name.startswith("named")
        return List([Tuple((Const(path), module)) if named else module for path, module in inside])
    if name == "get_submodule" and args:
        wanted = constant(args[0])
        found = [module for path, module in holdings.named_modules(m, instance) if path == wanted]
        return found[0] if found else m.symbol(instance, name, args[0])
    if name == "apply" and args and lineage.is_module(instance.cls):
        if _configures(m, args[0]):
            for module in holdings.submodules(m, instance):
                call(m, args[0], [module], {}, site)
        return instance
    if name in _HOOKS and args:
        return _register_hook(m, instance, _HOOKS[name], args, site)
    if instance.cls == HANDLE and name == "remove":
        if isinstance(hooks := contents["hooks"], List):
            containers.list_method(m, hooks, "clear", [])
        return NONE
    if name in ("zero_grad", "share_memory"):
        return NONE
    return tensors.unknown_call(m, *args, *kwargs.values())


def _configures(m: Trace, function: Value) -> bool:
    """Whether what is applied to modules may change how they compute; mostly it gives parameters their first values."""
    function = m.see(function)
    function = function.function if isinstance(function, (Bound, Partial)) else function
    if not isinstance(function, Function):
        return False
    return configures(function.text or function.piece)


def configures(piece: Piece) -> bool:
    """Whether a piece of the file may switch modules to work in place, or register something with them."""
    return any(name == "inplace" or name.startswith("register_") for name in piece.mentions)


def optimizer_step(m: Trace, optimizer: Object, args: list[Value], site: Site) -> Value:
    """``optimizer.step()`` overwrites every parameter; a fused one does so behind the version counter's back."""
    contents = m.state.get(optimizer).items
    closure = m.see(args[0]) if args else NONE
    if isinstance(closure, (Function, Bound)):
        call(m, closure, [], {}, site)
    elif isinstance(closure, Object) and "params" in m.state.get(closure).items:
        return optimizer_step(m, closure, [], site)  # GradScaler.step(optimizer)
    stepping = m.state.modes.get("backward", False)  # without gradients a step leaves every parameter alone
    if stepping and "params" in contents:
        events.update(m, site)
    form = "fused" if constant(contents.get("fused", NONE)) is True else "step"
    if stepping and "params" in contents:
        for tensor in holdings.parameters(m, contents["params"]):
            if tensor.view == "expand":
                m.refuse("expand", site)
            else:
                events.write(m, tensor.storage, form, site)
    if isinstance(closure, (Function, Bound)) and optimizer.cls == LBFGS:
        call(m, closure, [], {}, site)  # once more, with the parameters that it has moved to
    return NONE


def super_method(m: Trace, value: Super, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """A method of a base class that the file does not define."""
    receiver = value.receiver
    if not isinstance(receiver, Object):
        return tensors.unknown_call(m, *args, *kwargs.values())
    if name == "__init__":
        classes.inherit(m, receiver, value.owner, args, kwargs)
        return NONE
    if name in ("forward", "__call__"):
        for base in lineage.lineage(value.owner):
            if isinstance(base, Ref):
                if base.name == "torch.nn.Sequential":
                    return _sequential(m, receiver, args, site)
                fact = modules.lookup(base.name)
                if fact is not None:
                    return nn.call_fact(m, receiver, fact, args, kwargs, site)
        return tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.MAYBE)
    return object_method(m, receiver, name, args, kwargs, site)


def _shared(m: Trace, given: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A tensor over memory that something else holds too."""
    if isinstance(given, Array):
        return Tensor(Storage(hidden=given.storage))
    if isinstance(given, Tensor):
        return tensors.data(m, given)
    if isinstance(given, Unknown):
        return m.promote(m.symbol("memory", given))
    return tensors.unknown_call(m, *args, *kwargs.values())


def _functional_call(m: Trace, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """A module called with other parameters, which it saves as it would its own."""
    given = m.see(args[1])
    values = list(m.state.get(given).items.values()) if isinstance(given, Dict) else [given]
    held = [tensor for value in values for tensor in holdings.tensors_in(m, value)]
    grad = max((holdings.reach(m, value) for value in (*args, *held)), default=Grad.NO)
    if not m.grad_mode or not grad:
        return Unknown()
    saves = tuple(operators.keep(m, "functional_call", "parameters", tensor.storage, site) for tensor in held)
    for tensor in held:
        events.record(m, tensor)
    node = Node("functional_call", saves, m.history(*args, *held))
    return Unknown(grad, node, likely=True)


def _checkpoint(m: Trace, function: Value, args: list[Value], site: Site) -> Value:
    """``torch.utils.checkpoint.checkpoint(function, *args)``."""
    begin = m.tick()
    result = call(m, function, args, {}, site)
    owner = function.receiver if isinstance(function, Bound) else function
    if m.grad_mode and isinstance(owner, Object):
        events.checkpoint(m, holdings.held(m, owner, set()), begin)
    return result


def _packing(m: Trace, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """The context managers of ``torch.autograd.graph`` that say how tensors are saved."""
    if name == "saved_tensors_hooks" and args:
        probe = Tensor()
        packed = call(m, args[0], [probe], {}, site)
        return Packing(any(tensor.storage is probe.storage for tensor in holdings.tensors_in(m, packed)))
    if name == "save_on_cpu":  # moves, and so copies, unless the tensor is on the CPU
        return Packing(constant(args[0] if args else kwargs.get("pin_memory", NONE)) is not True)
    if name == "allow_mutation_on_saved_tensors":
        return Packing(False)
    return tensors.unknown_call(m, *args, *kwargs.values())


def _transformed(m: Trace, transform: Transform, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """``vmap(f)(x)`` and ``grad(f)(x)``: the function runs, with batched arguments, or with ones that require grad."""
    inputs = [m.promote(arg) for arg in args]
    if transform.kind == "vmap":
        dims, batched = m.see(transform.dims), m.state[BATCHED]
        outside = frozenset(batched)
        axes = dims.items if isinstance(dims, Tuple) else ()
        for index, arg in enumerate(inputs):
            if isinstance(arg, Tensor) and (index >= len(axes) or m.see(axes[index]) != NONE):
                row = Tensor(arg.storage, arg.cell, arg.view, arg.contiguous)
                inputs[index] = row
                m.state.set(batched, row, True)
        result = call(m, transform.function, inputs, kwargs, site)
        for tensor in batched.keys() - outside:
            m.state.set(batched, tensor, False)
        return result
    if inputs and isinstance(inputs[0], Tensor):
        leaf = Tensor(cell=Cell(Grad.YES, leaf=False))
        if m.state[BATCHED].get(inputs[0]):
            m.state.set(m.state[BATCHED], leaf, True)
        inputs[0] = leaf
    events.reach(m, (call(m, transform.function, inputs, kwargs, site),))
    return Unknown()


def call_ref(m: Trace, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call something imported or built in."""
    if name in _MODES and not name.startswith("torch.library."):
        if name == "torch.inference_mode" and args and constant(args[0]) is False:
            return GradMode(True)
        inference = name == "torch.inference_mode" and (not args or constant(args[0]) is True)
        mode = GradMode(_MODES[name], inference)
        return mode if not args or not isinstance(args[0], (Function, Bound)) else args[0]
    if name in _FUNCTIONAL and len(args) > 1:
        return _functional_call(m, args, kwargs, site)
    if name in _SHARING and args:
        return _shared(m, m.see(args[0]), args, kwargs)
    if name.startswith("torch.autograd.graph."):
        return _packing(m, name[21:], args, kwargs, site)
    if name in _TRANSFORMS and args:
        return Transform(_TRANSFORMS[name], args[0], args[1] if len(args) > 1 else kwargs.get("in_dims", Const(0)))
    if name in _DIFFERENTIATING and len(args) > 1:
        given = m.see(args[1])
        inputs: list[Value] = list(given.items) if isinstance(given, Tuple) else [given]
        return _transformed(m, Transform("grad", args[0], NONE), inputs, {}, site)
    if name in ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"):
        on = constant(args[0]) is not False if args else True
        m.state.set(m.state.modes, "grad", on)
        return GradMode(on)
    if name == "torch.is_grad_enabled":
        return Const(m.grad_mode)
    if name in _COMPILING:
        return Const(False)
    if name == "torch.is_tensor" and args:
        return builtins.builtin(m, "isinstance", [args[0], Ref("torch.Tensor")], {}, site) or Unknown()
    if name == "enum.auto":
        return Const(f"member {m.tick()}")  # another one each time
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
        return _checkpoint(m, m.see(args[0]), args[1:], site)
    if name == "builtins.object.__setattr__" and len(args) == 3 and isinstance(owner := m.see(args[0]), Object):
        if isinstance(attribute := constant(args[1]), str):
            classes.set_attribute(m, owner, attribute, args[2], site)
        return NONE
    if name in ("types.SimpleNamespace", "argparse.Namespace"):
        return Object(Ref(name), kwargs)
    if name in _HIGHER and args:
        return _higher(m, name, args, site)
    if name == "functools.partial" and args:
        return Partial(args[0], tuple(args[1:]), kwargs)
    if name == "collections.defaultdict" and args:
        made_up = records.dictionary(m, args[1:], kwargs)
        made_up.factory = m.see(args[0])
        return made_up
    if name == "collections.deque":
        return List(*iteration.elements(m, args[0])) if args else List()
    if name in ("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys") and args:
        made_up = Dict()
        for key in iteration.elements(m, args[0])[0]:
            containers.set_item(m, made_up, key, args[1] if len(args) > 1 else NONE)
        return made_up
    if name in ("collections.OrderedDict", "builtins.dict"):
        return records.dictionary(m, args, kwargs)
    if name.startswith("torch.Tensor.") and args:
        return call_method(m, Method(m.promote(args[0]), name[13:], site.node), args[1:], kwargs, site)
    built = nn.build(m, name, args, kwargs)
    if built is not None:
        return built
    if name.rpartition(".")[2] == "GradScaler" and name.startswith("torch."):
        return Object(SCALER)
    if name == "torch.nn.utils.parametrize.register_parametrization" and len(args) > 2:
        if isinstance(module := m.see(args[0]), Object):
            classes.set_attribute(m, module, f"parametrizations.{constant(args[1])}", args[2], site)
        return args[0]
    if name in _PACKING and args:
        history = tensors.unknown_call(m, args[0])
        return records.packed(m, tensors.fresh(history.grad, history.node, False))
    if name == "torch.nn.utils.rnn.pad_packed_sequence" and args:
        history = tensors.unknown_call(m, records.as_tuple(m, m.see(args[0])))
        return Tuple((tensors.fresh(history.grad, history.node, False), tensors.fresh()))
    if name in _PARALLEL and args:
        return Object(Ref(name), {"module": args[0]})
    if name in _REPARAMETRIZING and args:
        return args[0]
    ops = facts.lookup(name)
    if ops:
        enabled = m.grad_mode
        m.state.set(m.state.modes, "grad", enabled and not name.startswith("torch.nn.init."))  # which switches it off
        result = overloads.apply(m, ops, args, kwargs, site)
        m.state.set(m.state.modes, "grad", enabled)
        return result
    if name.startswith("itertools.") and "repeat" not in kwargs:
        made = builtins.iterator(m, name[10:], args)
        if made is not None:
            return made
    if name.startswith("builtins."):
        known = builtins.builtin(m, name[9:], args, kwargs, site)
        if known is not None:
            return known
        return tensors.unknown_call(m, *args, *kwargs.values())
    if name.startswith("operator.") and (made := _operator(m, name[9:], args, site)) is not None:
        return made
    if name.startswith(_NO_TENSOR):
        for arg in map(m.see, args) if m.state[STORED] else ():
            if isinstance(arg, List):
                iteration.elements(m, arg)  # np.stack(arrays) reads them
        return Unknown(scalar=True)
    if name == "copy.copy" and args:
        return records.shallow(m, args[0])
    if name == "copy.deepcopy" and args:
        return records.copied(m, args[0], {})
    if name == "dataclasses.field":
        return Object(lineage.FIELD, kwargs)
    if name == "dataclasses.asdict" and args and isinstance(made_of := m.see(args[0]), Object):
        return Dict(m.state.get(made_of).items)
    if name == "dataclasses.replace" and args:
        return records.replaced(m, args[0], kwargs)
    if name in ("collections.namedtuple", "typing.NamedTuple") and len(args) > 1:
        return Class(
            str(constant(args[0])),
            site.expression,
            site.piece,
            (lineage.NAMED_TUPLE,),
            variables(),
            _names(m, args[1]),
            True,
        )
    last = name.rpartition(".")[2]
    if last[:1].isupper() and not any(isinstance(m.see(a), Tensor) for a in args):
        return Object(STRANGER, {f"init.{key}": value for key, value in kwargs.items()})
    if m.stack.is_statement(site) and not name.startswith("torch."):
        for module in [arg for arg in map(m.see, args) if isinstance(arg, Object) and lineage.is_module(arg.cls)]:
            for tensor in holdings.parameters(m, module):  # which it may freeze, or put others in their place
                m.state.put(tensor.cell, CellState(Grad.MAYBE, None, m.cell(tensor).leaf))
    return tensors.unknown_call(m, *args, *kwargs.values())


def _operator(m: Trace, name: str, args: list[Value], site: Site) -> Value | None:
    """Call a function of Python's ``operator`` that takes two operands."""
    plain = name.strip("_")
    if len(args) == 2 and plain in arithmetic.BINARY:
        return arithmetic.operator(m, plain, args[0], args[1], site)
    if len(args) == 2 and plain[:1] == "i" and plain[1:] in arithmetic.BINARY:
        return arithmetic.augment(m, plain[1:], args[0], args[1], site, "op_")
    return None


_HIGHER = frozenset(
    {"builtins.map", "builtins.filter", "functools.reduce", "itertools.starmap", "torch.utils._pytree.tree_map"}
)


def _higher(m: Trace, name: str, args: list[Value], site: Site) -> Value:
    """Functions that call a function for every element."""
    function, *sequences = args
    if name == "torch.utils._pytree.tree_map":
        return _mapped(m, function, sequences[0], site, {}) if sequences else Unknown()
    columns = [iteration.elements(m, sequence) for sequence in sequences]
    if name == "functools.reduce" and columns:
        items = [*sequences[1:2], *columns[0][0]]
        result = items[0] if items else NONE
        for item in items[1:]:
            result = call(m, function, [result, item], {}, site)
        return result
    exact = all(done for _, done in columns)
    rows = [list(row) for row in zip(*(items for items, _ in columns), strict=False)]
    if name == "builtins.filter":
        return List([row[0] for row in rows], open=True)
    if name == "itertools.starmap":
        rows = [iteration.elements(m, row[0])[0] for row in rows]
    return List([call(m, function, row, {}, site) for row in rows], not exact)


def _mapped(m: Trace, function: Value, value: Value, site: Site, made: dict[Value, Value]) -> Value:
    """The same containers, each made once, of what a function makes of everything in them."""
    value = m.see(value)
    if not isinstance(value, (Tuple, List, Dict)):
        return call(m, function, [value], {}, site)
    if value in made:
        return made[value]
    if isinstance(value, Tuple):
        made[value] = Tuple(tuple(_mapped(m, function, item, site, made) for item in value.items))
    elif isinstance(value, List):
        row = made[value] = List()
        contents = m.state.get(value)
        row.initial = Items(tuple(_mapped(m, function, item, site, made) for item in contents.items), contents.open)
    else:
        table = made[value] = Dict()
        held = m.state.get(value)
        items = {key: _mapped(m, function, item, site, made) for key, item in held.items.items()}
        table.initial = Attributes(items, held.open)
    return made[value]


def _names(m: Trace, value: Value) -> tuple[str, ...]:
    """The field names that ``namedtuple`` is given: a string, a list of strings, or of pairs."""
    text = constant(m.see(value))
    if isinstance(text, str):
        return tuple(text.replace(",", " ").split())
    items = (
        [m.see(item) for item in iteration.elements_all(m, seen)[0]]
        if isinstance(seen := m.see(value), (List, Tuple))
        else []
    )
    return tuple(
        str(constant(m.see(item.items[0]) if isinstance(item, Tuple) and item.items else item)) for item in items
    )


def parameter(m: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``nn.Parameter(data)``: a leaf over the memory of ``data``."""
    data = m.see(args[0] if args else kwargs.get("data", NONE))
    on = constant(args[1] if len(args) > 1 else kwargs.get("requires_grad", NONE)) is not False
    cell = Cell(Grad.YES if on else Grad.NO)
    if isinstance(data, Tensor):
        return Tensor(data.storage, cell, "expand" if data.view == "expand" else "", data.contiguous)
    return Tensor(cell=cell)
