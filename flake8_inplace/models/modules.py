"""Methods that nn.Module, its containers and other classes of PyTorch bring along."""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.state import Declared, latest
from ..heap.values import ITEMS, NONE, Const, Dict, List, Object, Ref, Tensor, Tuple, Value, constant
from ..program.pieces import Piece
from ..torchfacts import ops as facts
from ..trace import devices, events, holdings
from ..trace.callables import Bound, Partial
from ..trace.frames import Class, Function
from ..trace.trace import Trace
from . import (
    autograd,
    classes,
    containers,
    custom,
    dicts,
    distributions,
    handed,
    launchers,
    lineage,
    lists,
    optim,
    records,
    tensors,
)
from .registry import Call, call_method, method, model
from .unknowns import of_optimizer, parameters_of, state_of

MODULE, LIST, DICT = classes.MODULES
PLACES: Declared[tuple[List, str], int] = Declared(latest)
"""The position of a module in a sequence, counted from 1, by the name that `add_module` gave it there."""
HANDLE = Ref("torch.utils.hooks.RemovableHandle")


def method_of(call: Call, instance: Object) -> Value:
    """Call a method that the class of an instance has from PyTorch or Python."""
    if call.name == "_replace":
        return records.replaced(call.m, instance, call.kwargs)
    if ITEMS in call.m.state.get(instance).items and not lineage.is_module(instance.cls):
        return _container_method(call, instance)
    of_stranger = of_optimizer(call, instance) if instance.cls == lineage.STRANGER else None
    made = of_stranger or call_method(call, instance, *_classes(call, instance))
    if made is not None:
        return made
    return NONE if lineage.optimizes(instance.cls) else tensors.unknown_call(call.m, *call.values)


def _classes(call: Call, instance: Object) -> Iterator[str]:
    """The classes whose methods an instance has, or may have where its class has a base of another file."""
    if isinstance(instance.cls, Class) and lineage.inherits(instance.cls, lineage.FUNCTION):
        yield lineage.FUNCTION
    if instance.cls == custom.CONTEXT:
        yield custom.CONTEXT.name
    if isinstance(instance.cls, Ref) and distributions.is_distribution(instance.cls):
        yield instance.cls.name
        return
    if isinstance(instance.cls, Ref) and instance.cls.name in launchers.CLASSES:
        yield instance.cls.name
        return
    if own := handed.own_class(instance.cls):
        yield own
        return
    if ITEMS in call.m.state.get(instance).items:
        yield LIST
        yield DICT
    if instance.cls == optim.SCALER:
        yield optim.GRAD_SCALER
    yield optim.OPTIMIZER
    if not lineage.optimizes(instance.cls):
        if instance.cls == HANDLE:
            yield HANDLE.name
        yield MODULE


# -- containers


def _items(call: Call, instance: Object) -> Value:
    return call.m.see(call.m.state.get(instance).items[ITEMS])


def _container_method(call: Call, instance: Object) -> Value:
    """A method of an instance of a class that derives from list or dict."""
    items = _items(call, instance)
    if isinstance(items, List):
        return lists.list_method(call, items)
    if call.name in ("append", "extend", "insert"):
        return NONE
    return dicts.dict_method(call, items) if isinstance(items, Dict) else items


@method(LIST, "append", "extend", "insert")
def _grow(call: Call, instance: Object) -> Value:
    items = _items(call, instance)
    return lists.list_method(call, items) if isinstance(items, List) else NONE


@method(DICT, "keys", "values", "items")
def _entries(call: Call, instance: Object) -> Value:
    items = _items(call, instance)
    if isinstance(items, Dict):
        return dicts.dict_method(call, items)
    return lists.list_method(call, items) if isinstance(items, List) else items


@method(LIST, "add_module", "register_module")
def _add_item(call: Call, instance: Object) -> Value | None:
    if len(call.args) < 2:
        return None
    if isinstance(items := _items(call, instance), List):
        _put(call.m, items, constant(call.seen(0)), call.args[1])
    return NONE


def _put(m: Trace, items: List, name: object, module: Value) -> None:
    """Add a module to a sequence, in the place of the one that was added under the same name."""
    place = m.state[PLACES].get((items, name), 0) if isinstance(name, str) else 0
    if 0 < place <= len(m.state.get(items).items):
        containers.set_item(m, items, Const(place - 1), module)
        return
    containers.append(m, items, module)
    if isinstance(name, str):
        m.state.set(m.state[PLACES], (items, name), len(m.state.get(items).items))


# -- parameters, buffers and modules inside a module


@method(MODULE, "parameters", "named_parameters")
def _parameters(call: Call, instance: Object) -> Value:
    if instance.cls == lineage.STRANGER:
        return parameters_of(call.m, instance, call.name)
    return _held(call, instance, True)


@method(MODULE, "buffers", "named_buffers")
def _buffers(call: Call, instance: Object) -> Value:
    return _held(call, instance, False)


def _held(call: Call, instance: Object, wanted: bool) -> Value:
    """The tensors of a module that require grad or were frozen, or the others; with names where these are asked for.

    A tensor that was computed is neither, as an attribute of a module: ``self.weight = make(x)``.
    """
    m = call.m
    every = [(key, tensor) for key, tensor in holdings.named(m, instance) if m.cell(tensor).node is None]
    held = [(key, tensor) for key, tensor in every if _is_parameter(m, tensor) is wanted]
    return List([Tuple((Const(key), tensor)) if call.name.startswith("named") else tensor for key, tensor in held])


def _is_parameter(m: Trace, tensor: Tensor) -> bool:
    return bool(m.grad(tensor)) or tensor.cell in m.state[tensors.FROZEN]


@method(MODULE, "modules", "named_modules", "children", "named_children")
def _modules(call: Call, instance: Object) -> Value:
    every = call.name.endswith("modules")
    inside = holdings.named_modules(call.m, instance) if every else holdings.named_children(call.m, instance)
    named = call.name.startswith("named")
    return List([Tuple((Const(path), module)) if named else module for path, module in inside])


@method(MODULE, "get_submodule")
def _get_submodule(call: Call, instance: Object) -> Value | None:
    if not call.args:
        return None
    wanted = constant(call.args[0])
    found = [module for path, module in holdings.named_modules(call.m, instance) if path == wanted]
    return found[0] if found else call.m.symbol(instance, call.name, call.args[0])


@method(MODULE, "get_parameter", "get_buffer")
def _get_tensor(call: Call, instance: Object) -> Value | None:
    wanted = constant(call.args[0]) if call.args else None
    found = [tensor for path, tensor in holdings.named(call.m, instance) if path == wanted]
    return found[0] if found else None


@method(MODULE, "register_buffer", "register_parameter", "add_module", "register_module")
def _register(call: Call, instance: Object) -> Value | None:
    if len(call.args) < 2:
        return None
    classes.set_attribute(call.m, instance, str(constant(call.args[0])), call.args[1], call.site)
    return NONE


@model("torch.nn.utils.vector_to_parameters", "torch.nn.utils.convert_parameters.vector_to_parameters")
def _vector_to_parameters(call: Call) -> Value | None:
    if len(call.args) == 2 and isinstance(vector := call.m.promote(call.args[0]), Tensor):
        events.divide(call.m, vector, list(holdings.tensors_in(call.m, call.args[1])))
        return NONE
    return None


# -- the state of a module


@method(MODULE, "state_dict")
def _state_dict(call: Call, instance: Object) -> Value:
    """The state of a module: the memory of its parameters under other names."""
    made = {name: tensors.detached(call.m, tensor) for name, tensor in holdings.named(call.m, instance)}
    if not made:
        return state_of(call, instance)
    state = Dict(made, time=call.m.tick())
    events.state_dict(call.m, instance, state, call.site)
    return state


@method(MODULE, "load_state_dict")
def _load_state_dict(call: Call, instance: Object) -> Value:
    m = call.m
    events.load_state_dict(m, instance, call.argument(0), holdings.parameters(m, instance), call.site)
    if constant(call.argument(2, "assign")) is True:
        _assign_state(call, instance)
        return NONE
    loaded = [tensor.storage for tensor in holdings.held(m, instance, set()) if m.cell(tensor).leaf]
    events.update(m, call.site, frozenset(loaded))
    for storage in loaded:
        events.write(m, storage, "step", call.site)
    return NONE


def _assign_state(call: Call, instance: Object) -> None:
    """Give the parameters of a module the memory of a state: ``assign=True`` copies nothing."""
    state = call.m.see(call.argument(0, "state_dict"))
    values = call.m.state.get(state).items if isinstance(state, Dict) else {}
    for name, tensor in holdings.named(call.m, instance):
        if name in values and call.m.cell(tensor).leaf:
            events.replace_data(call.m, tensor, call.m.see(values[name]))


@method(MODULE, "reset_parameters")
def _reset_parameters(call: Call, instance: Object) -> Value:
    """A convention of the layers: each has one, but nn.Module has none."""
    for tensor in holdings.held(call.m, instance, set()):
        events.write(call.m, tensor.storage, "step", call.site)
    return NONE


@method(MODULE, "train", "eval")
def _train(call: Call, instance: Object) -> Value:
    """Note the mode of all modules. ``eval()`` is ``train(False)``, also of a class that defines a ``train`` itself."""
    own = lineage.member(instance.cls, "train") if call.name == "eval" else None
    if isinstance(own, Function):
        return call.m.run(own, [instance, Const(False)], {}, call.site)
    on = call.name == "train" and (not call.args or constant(call.args[0]) is not False)
    for module in holdings.submodules(call.m, instance):
        classes.set_attribute(call.m, module, "training", Const(on), call.site)
    return instance


@method(MODULE, "half", "float", "double", "type", "bfloat16")
def _convert(call: Call, instance: Object) -> Value:
    return instance


@method(MODULE, "to")
def _to(call: Call, instance: Object) -> Value:
    devices.move(call.m, call.argument(0, "device"), instance)
    return instance


@method(MODULE, "cuda", "cpu")
def _move(call: Call, instance: Object) -> Value:
    devices.move(call.m, Const(call.name), instance)
    return instance


@method(MODULE, "requires_grad_")
def _requires_grad(call: Call, instance: Object) -> Value:
    m, given = call.m, call.m.see(call.argument(0, "requires_grad"))
    on = constant(given) is not False
    known = given == NONE or constant(given) is not None
    for tensor in holdings.held(m, instance, set()) if known else ():
        if bool(m.grad(tensor)) is not on and _is_parameter(m, tensor):
            tensors.require_grad(m, tensor, on, call.site)
    return instance


@method(MODULE, "zero_grad")
def _zero_grad(call: Call, instance: Object) -> Value:
    optim.zero_grad(call, [tensor.cell for tensor in holdings.parameters(call.m, instance)])
    return NONE


@method(MODULE, "share_memory")
def _nothing(call: Call, instance: Object) -> Value:
    return NONE


# -- functions that are called with modules


@method(MODULE, "_apply")
def _apply_to_tensors(call: Call, instance: Object) -> Value | None:
    for tensor in holdings.held(call.m, instance, set()) if call.args else ():
        call.m.call(call.args[0], [tensor], {}, call.site)
    return instance


@method(MODULE, "apply")
def _apply(call: Call, instance: Object) -> Value | None:
    if not call.args or not lineage.is_module(instance.cls):
        return None
    saved = any(call.m.state.get(tensor.storage) for tensor in holdings.held(call.m, instance, set()))
    if saved or _configures(call):
        for module in holdings.submodules(call.m, instance):
            call.m.call(call.args[0], [module], {}, call.site)
    return instance


def _configures(call: Call) -> bool:
    """Whether what is applied to modules may change how they compute; mostly it gives parameters their first values."""
    function = call.seen(0)
    while isinstance(function, (Bound, Partial)):
        function = call.m.see(function.function)
    if not isinstance(function, Function):
        return False
    piece = function.text or function.piece
    return configures(piece) or (function.grad is not False and _overwrites(piece))


def configures(piece: Piece) -> bool:
    """Whether a piece of the file may switch modules to work in place, or register something with them."""
    return any(name == "inplace" or name.startswith("register_") for name in piece.mentions)


def _overwrites(piece: Piece) -> bool:
    """Whether a piece may overwrite parameters, in another way than by torch.nn.init."""
    methods = piece.mentions & facts.inplace_methods()
    return any("init" not in piece.mentions or facts.lookup(f"torch.nn.init.{name}") == () for name in methods)


_BACKWARD_HOOKS = ("register_full_backward_hook", "register_full_backward_pre_hook")


@method(MODULE, "register_forward_hook", "register_forward_pre_hook", *_BACKWARD_HOOKS)
def _register_hook(call: Call, instance: Object) -> Value | None:
    if not call.args:
        return None
    m, hook = call.m, call.args[0]
    kind = call.name.removeprefix("register_").removesuffix("_hook")
    hooks = m.see(m.state.get(instance).items.get(f"hooks.{kind}", NONE))
    if not isinstance(hooks, List):
        hooks = List()
        classes.set_attribute(m, instance, f"hooks.{kind}", hooks, call.site)
    containers.append(m, hooks, hook)
    if kind in autograd.OF_MODULES:
        autograd.backpropagate(m, autograd.hook_of_module(kind, instance, hook, (), call.site))
    return Object(HANDLE, {"hooks": hooks, "hook": hook})


@method(HANDLE.name, "remove")
def _remove(call: Call, instance: Object) -> Value:
    """Take one hook off a module. Those of other handles stay."""
    held = call.m.state.get(instance).items
    hooks, hook = held["hooks"], held["hook"]
    if isinstance(hooks, List) and hook in (left := call.m.state.get(hooks).items):
        containers.pop(call.m, hooks, left.index(hook), used=False)
    return NONE
