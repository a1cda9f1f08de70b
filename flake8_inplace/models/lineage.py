"""Classes and their bases: which class defines a member, what inherits from torch."""

from __future__ import annotations

from ..heap.values import Object, Ref, Value
from ..torchfacts import modules
from ..trace.frames import Class, Function
from ..trace.trace import Trace

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
RECORDS = frozenset({NAMED_TUPLE, Ref("pydantic.BaseModel"), Ref("pydantic.main.BaseModel"), Ref("msgspec.Struct")})
"""Bases that give a class an ``__init__`` that takes its annotated fields."""
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
LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList"})
DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
PARALLEL = frozenset(
    "torch.nn.DataParallel torch.nn.parallel.DataParallel torch.nn.parallel.DistributedDataParallel "
    "torch.nn.parallel.distributed.DistributedDataParallel".split()
)
"""Modules that run another one on several devices."""
_BUILT_IN = MODULES | LISTS | DICTS | PARALLEL


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


def is_dataset(cls: Value) -> bool:
    """Whether a class says that it is a dataset. A loader takes what has ``__getitem__`` for one, too."""
    return any(inherits(cls, name) for name in DATASETS)


def is_sequence(cls: Value) -> bool:
    """Whether a class defines a sequence: a length, and elements."""
    return all(isinstance(member(cls, name), Function) for name in ("__getitem__", "__len__")) and not is_module(cls)


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


def fields(cls: Value) -> list[str]:
    """The annotated names of a class and its bases, in the order that a generated ``__init__`` takes them."""
    own = [name for base in reversed(lineage(cls)) if isinstance(base, Class) for name in base.fields]
    return list(dict.fromkeys(own))


def optimizes(cls: Value | None) -> bool:
    """Whether a class is an optimizer."""
    return cls is not None and any(isinstance(base, Ref) and base.name in OPTIMIZERS for base in lineage(cls))


def kept(m: Trace, instance: Value | None, inside: bool = False) -> list[Value]:
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
