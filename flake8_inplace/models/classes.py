"""Instances of the program's classes: how they are made, and their attributes."""

from __future__ import annotations

from collections.abc import Hashable

from ..heap.autograd import phi
from ..heap.state import Declared, same_or_none
from ..heap.values import ITEMS, NONE, Attributes, Const, Dict, Grad, List, Object, Ref, Unknown, Value
from ..program.site import Site
from ..torchfacts.arrays import READING
from ..trace import events, holdings
from ..trace.callables import Bound, Method, Super
from ..trace.frames import Class, Function
from ..trace.trace import OPTIMIZERS, Trace
from . import parametrizations
from .distributions import is_distribution
from .lineage import (
    DICTIONARIES,
    FIELD,
    LIST,
    MODULE,
    NAMED_TUPLE,
    PACKED,
    STRANGER,
    fields,
    inherits,
    is_module,
    lineage,
    member,
    optimizes,
)
from .nn import build
from .records import as_list, dictionary
from .registry import METHODS, Call

HOLDERS: Declared[Dict, Object | None] = Declared(same_or_none)
"""The instances of whose attributes a dictionary was made, as ``x.__dict__`` and ``vars(x)`` are."""


def special(m: Trace, value: Value, name: str, args: list[Value], site: Site) -> Value | None:
    """Call a method that Python calls by itself, such as ``__add__``; None where an instance has none of the file."""
    found = member(value.cls, name) if isinstance(value, Object) else None
    if not isinstance(found, Function):
        return None
    result = m.see(m.run(found, [value, *args], {}, site))
    return None if result == Ref("builtins.NotImplemented") else result


def instantiate(m: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Make an instance of a class of the file: its ``__init__`` runs."""
    instance = Object(cls)
    init = member(cls, "__init__")
    if isinstance(init, Function):
        m.run(init, [instance, *args], kwargs, site)
    elif cls.generated:
        values: dict[str, Value] = dict(zip(fields(cls), args, strict=False)) | kwargs
        for name in fields(cls):
            if name not in values and (default := member(cls, name)) is not None:
                values[name] = _default(m, default, site)
        m.state.put(instance, Attributes(values))
        instance.time = m.tick()
        after = member(cls, "__post_init__")
        if isinstance(after, Function):
            m.run(after, [instance], {}, site)
    else:
        inherit(m, instance, cls, args, kwargs)
    return instance


def makes_class(m: Trace, cls: Class) -> bool:
    """Return whether a class is, or is above, the metaclass that is making a class."""
    metaclass = m.stack.making[-1].metaclass if m.stack.making else None
    return metaclass is not None and cls in lineage(metaclass)


def new_class(call: Call) -> Value:
    """Return the class that a metaclass is making, ``type.__new__(mcs, name, bases, namespace)``."""
    m, making = call.m, call.m.stack.making
    if not making or len(call.args) != 4:
        return Unknown()
    if isinstance(namespace := call.seen(3), Dict):
        for name, value in m.state.get(namespace).items.items():
            if isinstance(name, str) and making[-1].members.get(name) is not value:
                m.state.set(making[-1].members, name, value)
    return making[-1]


def inherit(m: Trace, instance: Object, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Run the ``__init__`` of the first base of ``cls`` that is torch's or Python's own."""
    for base in lineage(cls):
        if isinstance(base, Ref) and (built := build_base(m, base.name, args, kwargs)) is not None:
            contents = m.state.get(instance)
            m.state.put(instance, Attributes({**contents.items, **m.state.get(built).items}, contents.open))
            return


def build_base(m: Trace, name: str, args: list[Value], kwargs: dict[str, Value]) -> Object | None:
    """The part of an instance that a base class makes: the elements of a list or dictionary, or a module."""
    if name == LIST:
        return Object(Ref(name), {ITEMS: as_list(m, args[0]) if args else List()})
    if name in DICTIONARIES:
        return Object(Ref(name), {ITEMS: dictionary(m, args, kwargs)})
    return build(m, name, args, kwargs)


def _default(m: Trace, default: Value, site: Site) -> Value:
    """The default of a field; ``field(default_factory=list)`` makes a new one each time."""
    if isinstance(default, Object) and default.cls == FIELD:
        options = m.state.get(default).items
        factory = m.see(options.get("default_factory", NONE))
        if factory != NONE:
            begin = m.tick()
            made: Value = m.call(factory, [], {}, site)
            events.default_made(m, made, begin)
            return made
        given: Value = options.get("default", Unknown())
        return given
    return default


def attribute(m: Trace, instance: Object, name: str, site: Site) -> Value:
    """Read an attribute of an instance; one that nobody set is unknown, and from then on always the same."""
    contents = m.state.get(instance).items
    if name in contents:
        found: Value = contents[name]
        if not m.unread:
            events.read_attribute(m, instance, name, m.see(found))
        return found
    made = parametrizations.made(m, contents, name, site)
    if made is not None:
        return made
    if f"init.{name}" in contents and instance.cls != STRANGER:
        return contents[f"init.{name}"]
    found_member = member(instance.cls, name)
    if found_member is not None:
        return _of_class(m, instance, name, found_member, site)
    if name == "__dict__" and (every := attributes(m, instance)) is not None:
        return every
    fallback = member(instance.cls, "__getattr__")
    if isinstance(fallback, Function) and not any(active.node is fallback.node for active in m.stack.functions):
        return m.run(fallback, [instance, Const(name)], {}, site)
    items = m.see(contents.get(ITEMS, NONE))
    if isinstance(fallback, Ref) and isinstance(items, Dict) and name in m.state.get(items).items:
        return m.state.get(items).items[name]
    if name == "__class__":
        return instance.cls
    if name == "training":
        return Const(True)  # modules are made in training mode, and it is training that runs a backward
    steps = name == "zero_grad" or (name == "step" and instance in m.state[OPTIMIZERS])
    if _has_method(instance.cls, name) or (steps and instance.cls == STRANGER):
        return Method(instance, name, site.node)
    value = m.symbol(instance, name)
    if (instance.cls == STRANGER or is_distribution(instance.cls)) and value.node is None:  # of what it was made of
        value.node = phi(m.history(*contents.values()))
        value.grad = max((holdings.reach(m, item) for item in contents.values()), default=Grad.NO)
    return value


def _of_class(m: Trace, instance: Object, name: str, found: Value, site: Site) -> Value:
    """Read what the class of an instance has under a name: a property, a method, a descriptor, or a plain value."""
    if not isinstance(found, Function):
        got = special(m, found, "__get__", [instance, instance.cls], site)  # it is a descriptor
        return found if got is None else got
    if found.kind in ("property", "cached"):
        value = m.run(found, [instance], {}, site)
        if found.kind == "cached":
            set_attribute(m, instance, name, value, site)
        return value
    if found.kind == "static":
        return found
    return Bound(found, instance.cls if found.kind == "class" else instance)


def attributes(m: Trace, instance: Object) -> Dict | None:
    """The attributes of an instance of the program as a dictionary. What is put into it becomes an attribute.

    Of a module, nothing is known of what is in it: its parameters and submodules are not. None for other instances.
    """
    if not isinstance(instance.cls, Class):
        return None
    contents = m.state.get(instance)
    apart = is_module(instance.cls)
    every = {} if apart else {name: value for name, value in contents.items.items() if name.isidentifier()}
    made = Dict(every, contents.open or apart)
    m.state.set(m.state[HOLDERS], made, instance)
    return made


@events.store_key.listen
def on_store_key(m: Trace, table: Dict, key: Hashable, value: Value) -> None:
    """What is put into the ``__dict__`` of an instance is an attribute of it."""
    instance = m.state[HOLDERS].get(table) if m.state[HOLDERS] else None
    site = m.here() if instance is not None else None
    if instance is not None and site is not None and isinstance(key, str):
        set_attribute(m, instance, key, value, site)


def _has_method(cls: Value, name: str) -> bool:
    """Whether the classes of torch and Python that a class derives from bring this method along."""
    if inherits(cls, LIST) or any(inherits(cls, known) for known in DICTIONARIES):
        return not name.startswith("__")
    if cls == STRANGER and name in READING:
        return True
    if name == "_replace":
        return inherits(cls, NAMED_TUPLE.name) or cls == PACKED
    if optimizes(cls) and name in ("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group"):
        return True
    if isinstance(cls, Ref) and cls.name.startswith(("torch.optim.", "torch.autograd.", "torch.utils.hooks.")):
        return True
    known = (base.name for base in lineage(cls) if isinstance(base, Ref) and base.name not in MODULES)
    if any(name in METHODS.get(base, ()) for base in known):
        return True
    modelled = name in ("forward", "__call__") or any(name in METHODS[of] for of in MODULES)
    return modelled and is_module(cls)


MODULES: tuple[str, str, str] = (MODULE, "torch.nn.ModuleList", "torch.nn.ModuleDict")
"""The classes whose methods modules have: these are the ones that a model is registered for."""


def set_attribute(m: Trace, instance: Object, name: str, value: Value, site: Site) -> None:
    found = member(instance.cls, name)
    if isinstance(found, Function) and found.kind == "property":
        setter = member(instance.cls, f"{name}.setter")
        if isinstance(setter, Function):
            m.run(setter, [instance, value], {}, site)
            return
    contents = m.state.get(instance)
    events.set_attribute(m, instance, name, value)
    m.state.put(instance, Attributes({**contents.items, name: value}, contents.open))


def super_attribute(m: Trace, value: Super, name: str, site: Site) -> Value:
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Object) else value.owner
    found = member(cls, name, after=value.owner)
    if isinstance(found, Function) and name == "__new__":
        return found
    if isinstance(found, Function):
        if found.kind in ("property", "cached"):
            return m.run(found, [receiver], {}, site)
        return found if found.kind == "static" else Bound(found, receiver)
    if found is not None:
        return found
    return Method(value, name, site.node)
