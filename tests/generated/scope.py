"""What the generator knows about the names of the program it writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HEADER = "from functools import partial\n\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
NAMES = "x y z h u feat hidden score gate attn ctx delta prob mix".split()
SHAPES = "MVCS"
FRAME = "lines indent scope nograd loops depth has_index written must_use taken flag_name".split()
ATOM = re.compile(r"[\w.\[\]'\"-]+")
BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")


@dataclass(frozen=True)
class Var:
    """A tensor the program can name, and what the generator must know to use it without a foreign error."""

    text: str
    shape: str
    grad: bool = False
    """It may require grad."""
    sure: bool = False
    """It requires grad on every path."""
    leaf: bool = False
    """A leaf that requires grad, or a view of one: torch forbids writing it in grad mode."""
    frozen: bool = False
    """One of several views, or expanded: torch forbids writing it."""
    spent: bool = False
    """A backward has freed its graph."""
    storages: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Group:
    """A list, tuple or dict of tensors; its elements are variables called `name[...]`."""

    name: str
    kind: str
    keys: tuple[str, ...]
    shape: str


@dataclass(frozen=True)
class Module:
    """Something to call on one tensor."""

    text: str
    shapes: str
    writes: bool
    trains: bool
    aliases: bool = False
    must_use: bool = False


@dataclass(frozen=True)
class Function:
    """A function of the program: what it does to its arguments."""

    name: str
    params: tuple[Var, ...]
    results: tuple[Var, ...]
    written: frozenset[int]
    flags: bool = False
    """It takes a boolean last."""
    top: bool = False
    """It stands at the top of the file."""


@dataclass
class Scope:
    vars: dict[str, Var] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(dict(self.vars), dict(self.groups), dict(self.modules), dict(self.functions), list(self.numbers))


def merge(left: Scope, right: Scope) -> Scope:
    """What holds after either of two paths."""
    out = Scope()
    for name, a in left.vars.items():
        b = right.vars.get(name)
        if b is not None and b.shape == a.shape:
            out.vars[name] = Var(
                a.text,
                a.shape,
                a.grad or b.grad,
                a.sure and b.sure,
                a.leaf or b.leaf,
                a.frozen or b.frozen,
                a.spent or b.spent,
                a.storages | b.storages,
            )
    out.groups = {k: g for k, g in left.groups.items() if right.groups.get(k) == g and f"{k}[{g.keys[0]}]" in out.vars}
    out.modules = {k: m for k, m in left.modules.items() if k in right.modules}
    out.functions = {k: f for k, f in left.functions.items() if k in right.functions}
    out.numbers = [n for n in left.numbers if n in right.numbers]
    return out


def wrapped(text: str) -> str:
    """`text` as an operand: in parentheses unless it is a name, an attribute, a subscript or a call."""
    outer = text
    while (flat := BRACKETS.sub("", outer)) != outer:
        outer = flat
    return text if ATOM.fullmatch(outer) and not outer.startswith("-") else f"({text})"
