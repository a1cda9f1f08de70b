"""Classes of the file and of torch.nn: look-up of members, instances, and what calling an instance does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ..torchfacts import modules
from ..torchfacts import ops as facts
from . import stale, tensors
from .domain import (
    ITEMS,
    NONE,
    Attributes,
    Cell,
    Choice,
    Const,
    Dict,
    Grad,
    Items,
    List,
    Object,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
    choose,
    phi,
)
from .kept import overtaken
from .machine import Bound, Class, Function, Machine, Method, Site, Super, constant

MODULE = "torch.nn.Module"
MODULES = frozenset(
    {MODULE, "torch.nn.modules.Module", "torch.nn.modules.module.Module", "torch.jit.ScriptModule"}
    | {"torch.nn.modules.loss._Loss", "torch.nn.modules.loss._WeightedLoss"}
    | {f"{package}.LightningModule" for package in ("lightning", "lightning.pytorch", "pytorch_lightning")}
)
"""nn.Module by its names, and the classes without weights of their own that derive from it."""
FUNCTION = "torch.autograd.Function"
DATASETS = frozenset({"torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset"})
STRANGER = Ref("an unknown class")
NAMED_TUPLE = Ref("typing.NamedTuple")
OPTIMIZERS = frozenset(
    f"torch.optim.{name}"
    for name in "Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS Muon NAdam RAdam RMSprop Rprop SGD "
    "Optimizer optimizer.Optimizer".split()
)
LIST = "builtins.list"
DICTIONARIES = frozenset(
    {"builtins.dict", "collections.OrderedDict", "collections.UserDict", "collections.defaultdict"}
)
PACKED = Ref("torch.nn.utils.rnn.PackedSequence")
FIELD = Ref("dataclasses.field")
_LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList"})
_DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
_BUILT_IN = MODULES | _LISTS | _DICTS


def lineage(cls: Value) -> list[Value]:
    """A class and its bases, in the order that Python looks things up."""
    if not isinstance(cls, Class):
        return [cls]
    if cls.order:
        return cls.order
    found: list[Value] = []
    seen: list[Value] = []
    todo: list[tuple[Value, bool]] = [(cls, False)]
    while todo:  # the last base first, and each class after its bases: turned round, a base follows all that derive
        item, finished = todo.pop()
        if finished:
            found.append(item)
        elif item not in seen:
            seen.append(item)
            todo.append((item, True))
            todo += [(base, False) for base in item.bases] if isinstance(item, Class) else []
    cls.order.extend(found[::-1])
    return cls.order


def inherits(cls: Value, name: str) -> bool:
    return any(isinstance(base, Ref) and base.name == name for base in lineage(cls))


def is_module(cls: Value) -> bool:
    """Whether instances of a class are nn.Modules, as far as this file tells."""
    return any(
        isinstance(base, Ref) and (base.name in _BUILT_IN or modules.lookup(base.name) is not None)
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


def special(m: Machine, value: Value, name: str, args: list[Value], site: Site) -> Value | None:
    """Call a method that Python calls by itself, such as ``__add__``; None where an instance has none of the file."""
    found = member(value.cls, name) if isinstance(value, Object) else None
    if not isinstance(found, Function):
        return None
    result = m.see(m.run(found, [value, *args], {}, site))
    return None if result == Ref("builtins.NotImplemented") else result


def instantiate(m: Machine, cls: Class, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Make an instance of a class of the file: its ``__init__`` runs."""
    instance = Object(cls)
    init = member(cls, "__init__")
    if isinstance(init, Function):
        m.run(init, [instance, *args], kwargs, site)
    elif cls.generated:
        values: dict[Any, Value] = dict(zip(fields(cls), args, strict=False)) | kwargs
        for name in fields(cls):
            if name not in values and (default := member(cls, name)) is not None:
                values[name] = _default(m, default, site)
        m.state.put(instance, Attributes(values))
        after = member(cls, "__post_init__")
        if isinstance(after, Function):
            m.run(after, [instance], {}, site)
    else:
        inherit(m, instance, cls, args, kwargs)
    return instance


def inherit(m: Machine, instance: Object, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Run the ``__init__`` of the first base of ``cls`` that is torch's or Python's own."""
    for base in lineage(cls):
        if isinstance(base, Ref) and (built := build_base(m, base.name, args, kwargs)) is not None:
            contents = m.state.get(instance)
            m.state.put(instance, Attributes({**contents.items, **m.state.get(built).items}, contents.open))
            return


def build_base(m: Machine, name: str, args: list[Value], kwargs: dict[str, Value]) -> Object | None:
    """The part of an instance that a base class makes: the elements of a list or dictionary, or a module."""
    if name == LIST:
        return Object(Ref(name), {ITEMS: _as_list(m, args[0]) if args else List()})
    if name in DICTIONARIES:
        return Object(Ref(name), {ITEMS: dictionary(m, args, kwargs)})
    return build(m, name, args, kwargs)


def dictionary(m: Machine, args: list[Value], kwargs: dict[str, Value]) -> Dict:
    """``dict(...)``, of another dictionary or of pairs."""
    given = entries(m, args[0]) if args else Attributes({})
    made = Dict({**given.items, **kwargs}, given.open)
    stale.passed_on(m, args[0] if args else NONE, made, given.items.values())
    return made


def entries(m: Machine, value: Value) -> Attributes:
    """What a value holds that is used as a dictionary."""
    value = m.see(value)
    if isinstance(value, Object):
        value = m.see(m.state.get(value).items.get(ITEMS, NONE))
    if isinstance(value, Dict):
        return m.state.get(value)  # type: ignore[no-any-return]
    if not isinstance(value, (List, Tuple)):
        return Attributes({}, open=True)
    contents = m.state.get(value) if isinstance(value, List) else Items(value.items)
    rows = [_as_row(m, item) for item in contents.items]
    pairs = [row.items for row in rows if isinstance(row, Tuple) and len(row.items) == 2]
    held = {key.value if isinstance(key, Const) else key: item for key, item in pairs}
    return Attributes(held, contents.open or len(pairs) < len(contents.items))


def _as_row(m: Machine, value: Value) -> Value:
    """A pair, which may be spelled as a list."""
    value = m.see(value)
    return Tuple(m.state.get(value).items) if isinstance(value, List) and not m.state.get(value).open else value


def fields(cls: Value) -> list[str]:
    """The annotated names of a class and its bases, in the order that a generated ``__init__`` takes them."""
    own = [name for base in reversed(lineage(cls)) if isinstance(base, Class) for name in base.fields]
    return list(dict.fromkeys(own))


def _default(m: Machine, default: Value, site: Site) -> Value:
    """The default of a field; ``field(default_factory=list)`` makes a new one each time."""
    if isinstance(default, Object) and default.cls == FIELD:
        options = m.state.get(default).items
        factory = m.see(options.get("default_factory", NONE))
        if isinstance(factory, Function):
            return m.run(factory, [], {}, site)
        if isinstance(factory, Ref):
            made: dict[str, Value] = {LIST: List(), "builtins.dict": Dict()}
            return made.get(factory.name, Unknown())
        given: Value = options.get("default", Unknown())
        return given
    return default


def replaced(m: Machine, value: Value, changes: dict[str, Value]) -> Value:
    """A copy of an instance with some attributes changed: ``dataclasses.replace``, ``_replace``."""
    value = m.see(value)
    return Object(value.cls, {**m.state.get(value).items, **changes}) if isinstance(value, Object) else Unknown()


def packed(m: Machine, data: Value) -> Object:
    """A PackedSequence over the memory of ``data``."""
    rest = ("batch_sizes", "sorted_indices", "unsorted_indices")
    return Object(PACKED, {"data": data, **{name: Unknown() for name in rest}})


def as_tuple(m: Machine, value: Value) -> Value:
    """A named tuple as the tuple that it is; anything else as it was."""
    if isinstance(value, Object) and inherits(value.cls, PACKED.name):
        return Tuple(tuple(m.state.get(value).items.values()))
    if isinstance(value, Object) and inherits(value.cls, NAMED_TUPLE.name):
        contents = m.state.get(value).items
        return Tuple(tuple(contents.get(name, Unknown()) for name in fields(value.cls)))
    return value


def build(m: Machine, name: str, args: list[Value], kwargs: dict[str, Value]) -> Object | None:
    """Make an instance of a torch.nn class, or None where its class is not known."""
    if name in _LISTS:
        items: Value = (
            args[0] if len(args) == 1 and isinstance(m.see(args[0]), (List, Tuple, Dict)) else Tuple(tuple(args))
        )
        if name == "torch.nn.Sequential" and args and not isinstance(m.see(args[0]), Dict):
            items = List(args)
        named = entries(m, items).items if isinstance(m.see(items), Dict) else {}
        return Object(Ref(name), {**named, ITEMS: _as_list(m, items)})
    if name in _DICTS:
        pairs = args and isinstance(m.see(args[0]), (List, Tuple))
        return Object(Ref(name), {ITEMS: dictionary(m, args, {}) if pairs else args[0] if args else Dict()})
    if name == MODULE:
        return Object(Ref(name))
    if name in OPTIMIZERS:
        return Object(Ref(name), _optimizer(m, args[0] if args else kwargs.get("params", NONE), kwargs))
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


def _optimizer(m: Machine, params: Value, options: dict[str, Value]) -> dict[Any, Value]:
    """What an optimizer of these parameters, or groups of parameters, holds."""
    params = m.see(params)
    given = m.state.get(params).items if isinstance(params, List) else ()
    groups = list(given) if given and isinstance(m.see(given[0]), Dict) else [Dict({"params": params, **options})]
    return {"params": params, "fused": options.get("fused", NONE), "param_groups": List(groups), "state": Unknown()}


def optimizes(cls: Value | None) -> bool:
    """Whether a class is an optimizer."""
    return cls is not None and any(isinstance(base, Ref) and base.name in OPTIMIZERS for base in lineage(cls))


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
        if m.stored:
            stale.read_attribute(m, instance, name, m.see(found))
        if m.overtaken and not m.unread:
            overtaken(m, instance, name)
        return found
    if f"init.{name}" in contents and instance.cls != STRANGER:
        return contents[f"init.{name}"]  # type: ignore[no-any-return]
    found_member = member(instance.cls, name)
    if isinstance(found_member, Function):
        if found_member.kind in ("property", "cached"):
            value = m.run(found_member, [instance], {}, site)
            if found_member.kind == "cached":
                set_attribute(m, instance, name, value, site)
            return value
        if found_member.kind == "static":
            return found_member
        return Bound(found_member, instance.cls if found_member.kind == "class" else instance)
    if found_member is not None:
        return found_member
    fallback = member(instance.cls, "__getattr__")
    if isinstance(fallback, Function) and not any(active.node is fallback.node for active in m.active):
        return m.run(fallback, [instance, Const(name)], {}, site)
    items = m.see(contents.get(ITEMS, NONE))
    if isinstance(fallback, Ref) and isinstance(items, Dict) and name in m.state.get(items).items:
        return m.state.get(items).items[name]  # type: ignore[no-any-return]
    if name == "__class__":
        return instance.cls
    if name == "training":
        value = Const(True)  # modules are made in training mode, and it is training that runs a backward
    elif _has_method(instance.cls, name):
        return Method(instance, name, site.node)
    else:
        value = m.symbol(instance, name)
        if instance.cls == STRANGER and value.node is None:  # a distribution remembers what it was made of
            value.node = phi(m.history(*contents.values()))
            value.grad = max((tensors.reach(m, item) for item in contents.values()), default=Grad.NO)
    return value


def _has_method(cls: Value, name: str) -> bool:
    """Whether the classes of torch and Python that a class derives from bring this method along."""
    if inherits(cls, LIST) or any(inherits(cls, known) for known in DICTIONARIES):
        return not name.startswith("__")
    if name == "_replace":
        return inherits(cls, NAMED_TUPLE.name) or cls == PACKED
    if optimizes(cls) and name in ("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group"):
        return True
    if isinstance(cls, Ref) and cls.name.startswith(("torch.optim.", "torch.autograd.", "torch.utils.hooks.")):
        return True
    return name in _MODULE_METHODS and is_module(cls)


_MODULE_METHODS = frozenset(
    "parameters named_parameters buffers named_buffers modules children named_modules named_children register_buffer "
    "register_parameter add_module train eval zero_grad to cuda cpu half float double bfloat16 type apply forward "
    "append extend insert keys values items requires_grad_ load_state_dict state_dict register_forward_hook "
    "register_forward_pre_hook get_submodule "
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
    if m.events and contents.items.get(name) is value:
        stale.rebound(m, value, m.stored.get((instance, name), 0))
    if m.overtaken:
        m.state.set(m.overtaken, (instance, name), None)
    if m.events or m.updates or isinstance(value, Tensor):
        m.state.set(m.stored, (instance, name), m.tick())
        m.keepers[instance, name] = m.frames[-1]
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
    off = contents.get("init.p", NONE) in (Const(0), Const(0.0)) or contents.get("training", NONE) == Const(False)
    if "Dropout" in fact.name and args and off:
        return m.see(args[0])
    own = {p.name: _own(m, contents, p.name[5:], site) for p in op.params if p.name.startswith("self.")}
    if contents.get("init.max_norm", NONE) != NONE and isinstance(weight := contents.get("weight"), Tensor):
        m.write(weight.storage, "renorm", site)
    inputs = [p.name for p in op.params if not p.name.startswith("self.")]
    named = {name: value for name, value in kwargs.items() if name in inputs}
    return tensors.apply(m, (_lenient(op),), args[: len(inputs)], named | own, site, form)


@cache
def _lenient(op: facts.Op) -> facts.Op:
    """An operator as a module calls it, which may have been made without some of its parameters."""
    return replace(op, params=tuple(facts.Param(p.name, p.kind, True) for p in op.params), inplace=None)


def _own(m: Machine, contents: Mapping[Any, Value], name: str, site: Site) -> Value:
    """A parameter of a module as its forward uses it: what its parametrization makes of it."""
    value = contents.get(name, NONE)
    made_by = m.see(contents.get(f"parametrizations.{name}", NONE))
    return call(m, made_by, [value], {}, site) if isinstance(made_by, Object) else value


def parameters(m: Machine, value: Value) -> list[Tensor]:
    """The tensors of a module and its submodules that require grad."""
    return [tensor for tensor in held(m, value, set()) if m.grad(tensor)]


def held(m: Machine, value: Value, seen: set[int]) -> list[Tensor]:
    """Every tensor that a value holds, in itself or in what it is made of."""
    return [tensor for _, tensor in named(m, value, "", seen)]


def named(m: Machine, value: Value, prefix: str = "", seen: set[int] | None = None) -> list[tuple[str, Tensor]]:
    """The tensors that a module holds, in itself or in its submodules, with their dotted names."""
    value = m.see(value)
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, Tensor):
        return [(prefix, value)]
    inside: list[tuple[Any, Value]] = []
    if isinstance(value, Choice):
        inside = [(prefix, option) for _, option in value.options]
        return [found for name, item in inside for found in named(m, item, prefix, seen)]
    if isinstance(value, (Tuple, List)):
        inside = list(enumerate(value.items if isinstance(value, Tuple) else m.state.get(value).items))
    elif isinstance(value, (Object, Dict)):
        inside = list(m.state.get(value).items.items())
    dot = f"{prefix}." if prefix else ""
    return [
        found for name, item in inside for found in named(m, item, prefix if name == ITEMS else f"{dot}{name}", seen)
    ]


def kept(m: Machine, instance: Value | None, inside: bool = False) -> list[Value]:
    """What an instance keeps that others may go on with: on itself, in its modules, and on instances that it holds.

    What those hold in turn is mostly a structure that an algorithm works on.
    """
    found: list[Value] = []
    for value in map(m.see, m.state.get(instance).items.values()) if isinstance(instance, Object) else ():
        if not isinstance(value, Object) or is_module(value.cls):
            found.append(value)
        elif not inside:
            found += kept(m, value, inside=True)
    return found


def named_modules(
    m: Machine, value: Value, prefix: str = "", seen: dict[int, Value] | None = None
) -> list[tuple[str, Object]]:
    """A module and every module in it, with their dotted names."""
    value = m.see(value)
    seen = {} if seen is None else seen
    if id(value) in seen or not isinstance(value, (Tuple, List, Dict, Object)):
        return []
    seen[id(value)] = value
    inside: list[tuple[Any, Value]]
    if isinstance(value, (Tuple, List)):
        inside = list(enumerate(value.items if isinstance(value, Tuple) else m.state.get(value).items))
    else:
        inside = list(m.state.get(value).items.items())
    found = [(prefix, value)] if isinstance(value, Object) else []
    dot = f"{prefix}." if prefix else ""
    for name, item in inside:
        found += named_modules(m, item, prefix if name == ITEMS else f"{dot}{name}", seen)
    return found


def submodules(m: Machine, value: Value) -> list[Object]:
    """A module and every module in it."""
    return [module for _, module in named_modules(m, value)]


def named_children(m: Machine, module: Object) -> list[tuple[str, Object]]:
    """The modules that stand directly in a module, with their names."""
    found: dict[Object, str] = {}
    for name, value in m.state.get(module).items.items():
        value = m.see(value)
        inside: Iterable[tuple[Any, Value]] = [(name, value)]
        if isinstance(value, Dict):
            inside = m.state.get(value).items.items()
        elif isinstance(value, List):
            inside = enumerate(m.state.get(value).items)
        for key, item in inside:
            if isinstance(item, Object):
                found.setdefault(item, str(key))
    return [(name, child) for child, name in found.items()]


def copied(m: Machine, value: Value, memo: dict[Value, Value]) -> Value:
    """``copy.deepcopy``: memory of its own for every tensor, the same structure; what holds itself does so again."""
    value = m.see(value)
    if value in memo:
        return memo[value]
    if isinstance(value, Choice):
        options = [(guard, copied(m, option, memo)) for guard, option in value.options]
        return choose(options, partial=len(options) == 1)
    if isinstance(value, Unknown) and not value.scalar:
        memo[value] = Unknown()
        if value in m.modules:
            m.modules.add(memo[value])
    elif isinstance(value, Tensor):
        memo[value] = Tensor(cell=Cell(m.grad(value), leaf=m.cell(value).leaf))
    elif isinstance(value, Tuple):
        memo[value] = Tuple(tuple(copied(m, item, memo) for item in value.items))
    elif isinstance(value, List):
        twin = memo[value] = List()
        contents = m.state.get(value)
        twin.initial = Items(tuple(copied(m, item, memo) for item in contents.items), contents.open)
    elif isinstance(value, (Dict, Object)):
        same = memo[value] = Dict() if isinstance(value, Dict) else Object(value.cls)
        same.initial = Attributes({key: copied(m, item, memo) for key, item in m.state.get(value).items.items()})
    return memo.get(value, value)


def shallow(m: Machine, value: Value) -> Value:
    """``copy.copy``: another container, or another instance, of the same things."""
    value = m.see(value)
    if isinstance(value, List):
        contents = m.state.get(value)
        made = List(contents.items, contents.open)
        stale.passed_on(m, value, made, contents.items)
        return made
    if isinstance(value, (Dict, Object)):
        twin = Dict() if isinstance(value, Dict) else Object(value.cls)
        twin.initial = m.state.get(value)
        if isinstance(twin, Dict):
            stale.passed_on(m, value, twin, twin.initial.items.values())
        return twin
    return value if isinstance(value, (Tuple, Const)) else tensors.unknown_call(m, value)


def super_attribute(m: Machine, value: Super, name: str, site: Site) -> Value:
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Object) else value.owner
    found = member(cls, name, after=value.owner)
    if isinstance(found, Function):
        if found.kind in ("property", "cached"):
            return m.run(found, [receiver], {}, site)
        return found if found.kind == "static" else Bound(found, receiver)
    if found is not None:
        return found
    return Method(value, name, site.node)
