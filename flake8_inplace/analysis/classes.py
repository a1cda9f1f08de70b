"""Classes of the file and of torch.nn: look-up of members, instances, and what calling an instance does."""

from __future__ import annotations

from typing import Any

from ..torchfacts import modules
from ..torchfacts import ops as facts
from . import tensors
from .domain import (
    NONE,
    Attributes,
    Cell,
    Choice,
    Const,
    Dict,
    Grad,
    List,
    Object,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from .machine import Bound, Class, Function, Machine, Method, Site, Super, constant

MODULE = "torch.nn.Module"
MODULES = frozenset(
    {MODULE, "torch.nn.modules.Module", "torch.nn.modules.module.Module", "torch.jit.ScriptModule"}
    | {f"{package}.LightningModule" for package in ("lightning", "lightning.pytorch", "pytorch_lightning")}
)
"""nn.Module by its names, and the framework classes that derive from it."""
FUNCTION = "torch.autograd.Function"
_LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList"})
_DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})


def lineage(cls: Value) -> list[Value]:
    """A class and its bases, depth first, each once."""
    found: list[Value] = []
    todo = [cls]
    while todo:
        item = todo.pop(0)
        if item not in found:
            found.append(item)
            if isinstance(item, Class):
                todo = [*item.bases, *todo]
    return found


def inherits(cls: Value, name: str) -> bool:
    return any(isinstance(base, Ref) and base.name == name for base in lineage(cls))


def is_module(cls: Value) -> bool:
    """Whether instances of a class are nn.Modules, as far as this file tells."""
    return any(
        isinstance(base, Ref) and (base.name in MODULES or modules.lookup(base.name) is not None or base.name in _LISTS)
        for base in lineage(cls)
    )


def member(cls: Value, name: str, after: Class | None = None) -> Value | None:
    """What a class, or the first of its bases that has it, binds to ``name``; ``after`` skips up to that class."""
    order = lineage(cls)
    if after is not None and after in order:
        order = order[order.index(after) + 1 :]
    for base in order:
        if isinstance(base, Class) and name in base.members:
            return base.members[name]
    return None


def instantiate(m: Machine, cls: Class, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Make an instance of a class of the file: its ``__init__`` runs."""
    instance = Object(cls)
    init = member(cls, "__init__")
    if isinstance(init, Function):
        m.run(init, [instance, *args], kwargs, site)
    elif is_dataclass_like(cls):
        fields = {name: value for name, value in cls.members.items() if not isinstance(value, Function)}
        names = list(fields)
        values: dict[Any, Value] = {**fields, **dict(zip(names, args, strict=False)), **kwargs}
        m.state.put(instance, Attributes(values))
    else:
        for base in lineage(cls):
            if isinstance(base, Ref) and (built := build(m, base.name, args, kwargs)) is not None:
                m.state.put(instance, m.state.get(built))
                break
    return instance


def is_dataclass_like(cls: Class) -> bool:
    return bool(cls.node.decorators) or any(isinstance(b, Ref) and b.name.endswith("NamedTuple") for b in cls.bases)


def build(m: Machine, name: str, args: list[Value], kwargs: dict[str, Value]) -> Object | None:
    """Make an instance of a torch.nn class, or None where its class is not known."""
    if name in _LISTS:
        items: Value = (
            args[0] if len(args) == 1 and isinstance(m.see(args[0]), (List, Tuple, Dict)) else Tuple(tuple(args))
        )
        if name == "torch.nn.Sequential" and args and not isinstance(m.see(args[0]), Dict):
            items = List(args)
        return Object(Ref(name), {"items": _as_list(m, items)})
    if name in _DICTS:
        return Object(Ref(name), {"items": args[0] if args else Dict()})
    if name == MODULE:
        return Object(Ref(name))
    fact = modules.lookup(name)
    if fact is None:
        return None
    options: dict[str, Value] = {key: Const(value) for key, value in dict(fact.defaults).items()}
    options |= dict(zip(fact.init, args, strict=False)) | kwargs
    attributes: dict[Any, Value] = {f"init.{key}": value for key, value in options.items()}
    for parameter in fact.parameters:
        off = constant(options.get(parameter, NONE)) is False or constant(options.get("affine", NONE)) is False
        off = off or constant(options.get("elementwise_affine", NONE)) is False
        attributes[parameter] = NONE if off else Tensor(cell=Cell(Grad.YES))
    for buffer in fact.buffers:
        attributes[buffer] = Tensor()
    return Object(Ref(name), attributes)


def _as_list(m: Machine, value: Value) -> Value:
    value = m.see(value)
    if isinstance(value, List):
        return List(m.state.get(value).items, m.state.get(value).open)
    if isinstance(value, Tuple):
        return List(value.items)
    if isinstance(value, Dict):
        contents = m.state.get(value)
        return List(contents.items.values(), contents.open)
    return List([Unknown(), Unknown()], open=True) if isinstance(value, Unknown) else List()


def attribute(m: Machine, instance: Object, name: str, site: Site) -> Value:
    """Read an attribute of an instance; one that nobody set is unknown, and from then on always the same."""
    contents = m.state.get(instance).items
    if name in contents:
        found: Value = contents[name]
        return found
    found_member = member(instance.cls, name)
    if isinstance(found_member, Function):
        if found_member.kind == "property":
            return m.run(found_member, [instance], {}, site)
        if found_member.kind == "static":
            return found_member
        return Bound(found_member, instance.cls if found_member.kind == "class" else instance)
    if found_member is not None:
        return found_member
    if name == "training":
        value: Value = Const(True)  # modules are made in training mode, and it is training that runs a backward
    elif (name in _MODULE_METHODS and (is_module(instance.cls))) or (
        isinstance(instance.cls, Ref) and instance.cls.name.startswith(("torch.optim.", "torch.autograd."))
    ):
        return Method(instance, name, site.node)
    else:
        value = m.symbol(instance, name)
    return value


_MODULE_METHODS = frozenset(
    "parameters named_parameters buffers named_buffers modules children named_modules named_children register_buffer "
    "register_parameter add_module train eval zero_grad to cuda cpu half float double bfloat16 type apply forward "
    "append extend insert keys values items requires_grad_ load_state_dict state_dict register_forward_hook "
    "reset_parameters share_memory register_full_backward_hook register_module __call__".split()
)


def set_attribute(m: Machine, instance: Object, name: str, value: Value, site: Site) -> None:
    found = member(instance.cls, name)
    if isinstance(found, Function) and found.kind == "property":
        setter = member(instance.cls, f"{name}.setter")
        if isinstance(setter, Function):
            m.run(setter, [instance, value], {}, site)
            return
    contents = m.state.get(instance)
    m.state.put(instance, Attributes({**contents.items, name: value}, contents.open))


def call(m: Machine, instance: Object, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """``instance(...)``."""
    for name in ("forward", "__call__"):
        found = member(instance.cls, name)
        if isinstance(found, Function) and (name == "__call__" or is_module(instance.cls)):
            return m.run(found, [instance, *args], kwargs, site)
    for base in lineage(instance.cls):
        fact = modules.lookup(base.name) if isinstance(base, Ref) else None
        if fact is not None:
            return call_fact(m, instance, fact, args, kwargs, site)
    return tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.MAYBE)


def call_fact(
    m: Machine, instance: Object, fact: modules.ModuleFact, args: list[Value], kwargs: dict[str, Value], site: Site
) -> Value:
    """Call an instance of a torch.nn class."""
    contents = m.state.get(instance).items
    op, form = fact.op, "op_"
    if fact.inplace is not None and constant(contents.get("init.inplace", NONE)) is True:
        op, form = fact.inplace, "inplace"
    off = contents.get("init.p", NONE) in (Const(0), Const(0.0)) or contents.get("training", NONE) == Const(False)
    if "Dropout" in fact.name and args and off:
        return m.see(args[0])
    own = {p.name: contents.get(p.name[5:], NONE) for p in op.params if p.name.startswith("self.")}
    if contents.get("init.max_norm", NONE) != NONE and isinstance(weight := contents.get("weight"), Tensor):
        m.write(weight.storage, "renorm", site)
    inputs = tuple(p for p in op.params if not p.name.startswith("self."))
    shaped = facts.Op(
        op.name, tuple(facts.Param(p.name, p.kind, True) for p in op.params), op.saves, op.writes, op.outs
    )
    positional = args[: len(inputs)]
    named = {name: value for name, value in kwargs.items() if any(p.name == name for p in inputs)}
    return tensors.apply(m, (shaped,), positional, named | own, site, form)


def parameters(m: Machine, value: Value) -> list[Tensor]:
    """The tensors of a module and its submodules that require grad."""
    return [tensor for tensor in held(m, value, set()) if m.grad(tensor)]


def buffers(m: Machine, value: Value) -> list[Tensor]:
    """The tensors of a module and its submodules that do not."""
    return [tensor for tensor in held(m, value, set()) if not m.grad(tensor)]


def held(m: Machine, value: Value, seen: set[int]) -> list[Tensor]:
    """Every tensor that a module holds, in itself or in its submodules."""
    value = m.see(value)
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Choice):
        inside: list[Value] = [option for _, option in value.options]
    elif isinstance(value, Tuple):
        inside = list(value.items)
    elif isinstance(value, List):
        inside = list(m.state.get(value).items)
    elif isinstance(value, (Object, Dict)):
        inside = list(m.state.get(value).items.values())
    else:
        return []
    return [tensor for item in inside for tensor in held(m, item, seen)]


def submodules(m: Machine, value: Value) -> list[Object]:
    """A module and every module in it."""
    found: list[Object] = []
    todo = [value]
    while todo:
        item = m.see(todo.pop())
        if isinstance(item, Object) and item not in found:
            found.append(item)
            todo += m.state.get(item).items.values()
        elif isinstance(item, Dict):
            todo += m.state.get(item).items.values()
        elif isinstance(item, (List, Tuple)):
            todo += item.items if isinstance(item, Tuple) else m.state.get(item).items
    return found


def copied(m: Machine, value: Value, memo: dict[Value, Value]) -> Value:
    """``copy.deepcopy``: memory of its own for every tensor, the same structure."""
    value = m.see(value)
    if value in memo:
        return memo[value]
    if isinstance(value, Tensor):
        memo[value] = Tensor(cell=Cell(m.grad(value)))
    elif isinstance(value, Tuple):
        return Tuple(tuple(copied(m, item, memo) for item in value.items))
    elif isinstance(value, List):
        contents = m.state.get(value)
        memo[value] = List((copied(m, item, memo) for item in contents.items), contents.open)
    elif isinstance(value, Dict):
        memo[value] = Dict({key: copied(m, item, memo) for key, item in m.state.get(value).items.items()})
    elif isinstance(value, Object):
        memo[value] = Object(
            value.cls, {k: copied(m, v, memo) for k, v in m.state.get(value).items.items() if v is not value}
        )
    return memo.get(value, value)


def super_attribute(m: Machine, value: Super, name: str, site: Site) -> Value:
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Object) else value.owner
    found = member(cls, name, after=value.owner)
    if isinstance(found, Function):
        if found.kind == "property":
            return m.run(found, [receiver], {}, site)
        return found if found.kind == "static" else Bound(found, receiver)
    if found is not None:
        return found
    return Method(value, name, site.node)
