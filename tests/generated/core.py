"""The ground of the generator: creation, expressions, and what a write changes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from . import tables
from .scope import NAMES, SHAPES, Module, Scope, Var, wrapped


class Core:
    """Writes one program, statement by statement, keeping the scope up to date."""

    def __init__(self, rng: random.Random, wild: float = 0.0) -> None:
        self.rng = rng
        self.wild = wild
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.scope = Scope()
        self.fresh = itertools.count(1)
        self.nograd = False
        self.loops = 0
        self.depth = 0
        self.written: set[int] = set()
        self.params: list[str] = []
        self.top: list[str] = []
        self.must_use: list[str] = []
        self.leaves: list[str] = []
        self.taken: set[str] = set()
        self.has_index = False
        self.has_layers = False
        self.methods: list[str] = []
        self.flag_name = ""
        self.has_rebindable_state = False

    # -- small tools ---------------------------------------------------------------------------------------------

    @property
    def in_function(self) -> bool:
        return bool(self.flag_name)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)
        self.count += 1

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """An indented block that is never empty."""
        self.emit(head)
        self.indent += 1
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.depth -= 1
        self.indent -= 1

    def new_name(self, base: str | None = None) -> str:
        base = base or self.rng.choice(NAMES)
        name = base
        while name in self.taken:
            name = f"{base}{next(self.fresh)}"
        self.taken.add(name)
        return name

    def flag(self) -> str:
        """A boolean nobody knows before the program runs."""
        if self.flag_name:
            return self.flag_name
        flags = [p for p in self.params if p.startswith("flag")]
        if flags and self.chance(0.3):
            return flags[0]
        name = "flag" if not flags else f"flag{len(flags)}"
        if len(flags) < 2:
            self.params.append(name)
            return name
        return flags[-1]

    def count_param(self) -> str:
        if "n" not in self.params:
            self.params.append("n")
        return "n"

    def can_write(self, v: Var) -> bool:
        if v.shape not in SHAPES:
            return False
        allowed = not v.frozen and (not v.leaf or self.nograd)
        return allowed or (self.wild > 0 and self.chance(self.wild))

    def put(self, v: Var) -> Var:
        """Make `v` known; the latest is last."""
        self.scope.vars.pop(v.text, None)
        self.scope.vars[v.text] = v
        return v

    def pick(self, shape: str, want: Callable[[Var], bool] | None = None) -> Var | None:
        found = [v for v in self.scope.vars.values() if v.shape == shape and (want is None or want(v))]
        if not found:
            return None
        return self.rng.choice(found[-4:] if self.chance(0.6) else found)

    def operand(self, shape: str) -> Var:
        """A variable to read, made now if there is none."""
        wants_grad = self.chance(0.4)
        v = (wants_grad and self.pick(shape, lambda v: v.grad and not v.leaf and not v.spent)) or self.pick(
            shape, lambda v: not v.spent
        )
        if v:
            return v
        if shape in "ijb":
            return self.index_data(shape)
        if shape == "S" or self.in_function or self.chance(0.5):
            return self.data(shape)
        return self.leaf(shape)

    def known(self, shape: str) -> bool:
        return any(v.shape == shape and not v.spent for v in self.scope.vars.values())

    # -- creation ------------------------------------------------------------------------------------------------

    def leaf(self, shape: str | None = None) -> Var:
        shape = shape or self.rng.choice("MMMV")
        name = self.new_name(self.rng.choice(["w", "a", "weight", "scale"]))
        self.emit(f"{name} = {self.rng.choice(tables.LEAVES[shape])}")
        self.leaves.append(name)
        return self.put(Var(name, shape, grad=True, sure=True, leaf=True, storages=frozenset([next(self.fresh)])))

    def data(self, shape: str | None = None) -> Var:
        shape = shape or self.rng.choice("MMV")
        name = self.new_name(self.rng.choice(["x", "data", "buf", "target", "out"]))
        self.emit(f"{name} = {self.rng.choice(tables.DATA[shape])}")
        return self.put(Var(name, shape, storages=frozenset([next(self.fresh)])))

    def index_data(self, shape: str) -> Var:
        name = self.new_name("mask" if shape == "b" else "idx")
        source = self.rng.choice(tables.INDEX_DATA[shape])
        if shape == "b" and self.known("M") and self.chance(0.5):
            source = self.rng.choice(["{0} > 0", "{0}.abs() < 1.0", "torch.gt({0}, 0.5)"]).format(
                self.operand("M").text
            )
        if shape == "i" and self.known("M") and self.chance(0.3):
            source = self.rng.choice(["{0}.argmax(1)", "torch.argsort({0}[0])", "{0}.max(dim=1)[1]"]).format(
                self.operand("M").text
            )
        self.emit(f"{name} = {source}")
        return self.put(Var(name, shape, storages=frozenset([next(self.fresh)])))

    def module(self) -> Module:
        """A module made here, called later."""
        name = self.new_name(self.rng.choice(["lin", "norm", "act", "drop", "layer", "net"]))
        ctor, made = self.module_ctor()
        self.emit(f"{name} = {ctor}")
        self.scope.modules[name] = replace(made, text=name)
        return self.scope.modules[name]

    def module_ctor(self) -> tuple[str, Module]:
        if self.chance(0.25):
            parts = [self.rng.choice(tables.MODULES) for _ in range(self.rng.randint(2, 3))]
            shapes = "".join(s for s in "MV" if all(s in p[1] for p in parts))
            passing = [p for p in parts if p[0] != "nn.Identity()"]
            writes = bool(passing) and passing[0][2]
            ctor = "nn.Sequential({})".format(", ".join(p[0] for p in parts))
            return ctor, Module("", shapes, writes, any(p[3] for p in parts), all(p[2] for p in passing))
        ctor, shapes, writes, trains = self.rng.choice(tables.MODULES)
        return ctor, Module("", shapes, writes, trains, writes or "Identity" in ctor)

    # -- expressions ---------------------------------------------------------------------------------------------

    def derived(self, text: str, shape: str, parts: list[Var], *, keeps: bool = False, frozen: bool = False) -> Var:
        """The result of an op over `parts`; `keeps` if it shares the memory of the first."""
        floats = [p for p in parts if p.shape in SHAPES]
        base = parts[0] if keeps and parts else None
        return Var(
            text,
            shape,
            grad=not self.nograd and any(p.grad for p in floats),
            sure=not self.nograd and any(p.sure for p in floats),
            leaf=base is not None and base.leaf,
            frozen=frozen or (base is not None and (base.frozen or self.nograd)),
            spent=any(p.spent and p.grad for p in floats),
            storages=base.storages if base is not None else frozenset([next(self.fresh)]),
        )

    def argument(self, shape: str, depth: int) -> Var:
        if depth > 0 and shape in SHAPES and self.chance(0.2):
            v = self.expression(shape, depth - 1)
            return replace(v, text=wrapped(v.text))
        return self.operand(shape)

    def apply(self, template: str, letters: str, shape: str, depth: int) -> Var:
        parts = [self.argument(shape if letter == "X" else letter, depth) for letter in letters]
        return self.derived(template.format(*(p.text for p in parts)), shape, parts)

    def expression(self, shape: str, depth: int = 1) -> Var:
        """A new value of this shape (never an alias)."""
        kinds = ["unary", "binary", "special", "indexed", "module"]
        weights = [4.0, 5.0, 3.0, 1.0, 1.5]
        kind = self.rng.choices(kinds, weights)[0]
        if kind == "module":
            made = self.module_call(shape, pure=True)
            if made is not None:
                return made
        if kind == "indexed":
            template, letters = self.rng.choice(tables.INDEXED[shape])
            return self.apply(template, letters, shape, 0)
        if kind == "special":
            if shape == "M":
                if self.chance(0.5):
                    return self.apply(self.rng.choice(tables.MATRIX_UNARY), "M", "M", 0)
                return self.apply(*self.rng.choice(tables.MATRIX_BINARY), "M", depth)
            return self.apply(*self.rng.choice(tables.REDUCE[shape]), shape, depth)
        if kind == "binary" or (shape in "CS" and not self.known(shape)):
            if shape in "CS" and not self.known(shape):
                return self.apply(*self.rng.choice(tables.REDUCE[shape]), shape, depth)
            if self.scope.numbers and self.chance(0.15):
                number = self.rng.choice(self.scope.numbers)
                return self.apply(self.rng.choice(["{0} * ", "{0} / ", "{0} + "]) + number, "X", shape, depth)
            return self.apply(*self.rng.choice(tables.BINARY), shape, depth)
        if self.chance(0.6):
            name = self.rng.choice(tables.UNARY_NAMES)
            template = f"torch.{name}({{0}})" if self.chance(0.5) else f"{{0}}.{name}()"
            return self.apply(template, "X", shape, depth)
        if self.chance(0.08):
            value = self.apply(self.rng.choice(tables.CONSTANT), "X", shape, 0)
            return replace(value, grad=False, sure=False, spent=False)
        return self.apply(self.rng.choice(tables.UNARY), "X", shape, 0)

    def module_call(self, shape: str, *, pure: bool) -> Var | None:
        """A call of a module on a variable. A `pure` one neither writes nor returns its argument."""
        fits = [m for m in self.scope.modules.values() if shape in m.shapes and not (pure and (m.writes or m.aliases))]
        if not fits:
            return None
        made = self.rng.choice(fits)
        arg = self.pick(shape, lambda v: not v.spent and (not made.writes or self.can_write(v)))
        if arg is None:
            return None
        out = self.derived(f"{made.text}({arg.text})", shape, [arg], keeps=made.aliases)
        if made.trains and not self.nograd:
            out = replace(out, grad=True, sure=True)
        if made.writes:
            self.wrote(arg, [])
        return out

    # -- what a write changes ------------------------------------------------------------------------------------

    def wrote(self, target: Var, operands: list[Var]) -> None:
        self.written |= target.storages
        if any(s.startswith("self.") and v.storages & target.storages for s, v in self.scope.vars.items()):
            self.has_rebindable_state = True
        gains = not self.nograd and any(o.grad for o in operands) and target.shape in SHAPES
        spent = any(o.spent and o.grad for o in operands)
        for name, v in list(self.scope.vars.items()):
            if not v.storages & target.storages:
                continue
            if v.frozen and v.text != target.text:
                del self.scope.vars[name]
            elif gains and v.shape in SHAPES:
                sure = v.sure or (name == target.text and any(o.sure for o in operands))
                self.scope.vars[name] = replace(v, grad=True, sure=sure, spent=v.spent or spent)
        self.scope.groups = {
            k: g for k, g in self.scope.groups.items() if all(f"{k}[{key}]" in self.scope.vars for key in g.keys)
        }

    def assign(self, name: str, value: Var) -> Var:
        self.emit(f"{name} = {value.text}")
        return self.put(replace(value, text=name))

    def rebindable(self, shape: str) -> list[str]:
        return [
            v.text
            for v in self.scope.vars.values()
            if v.shape == shape
            and not v.leaf
            and v.text not in self.must_use
            and "." not in v.text
            and self.element_of(v.text) in (None, "list", "dict")
        ]

    def element_of(self, text: str) -> str | None:
        """The kind of the group that this variable is an element of."""
        for g in self.scope.groups.values():
            if text.startswith(g.name + "["):
                return g.kind
        return None

    def target_name(self, shape: str, *, rebind: float = 0.35) -> str:
        names = self.rebindable(shape)
        if names and self.chance(rebind):
            return self.rng.choice(names)
        return self.new_name()

    def condition(self) -> str:
        if self.loops and self.chance(0.3):
            return self.rng.choice(["i > 0", "i == 0", "i % 2 == 0"]) if self.has_index else self.flag()
        r = self.rng.random()
        if r < 0.75 or self.in_function:
            return self.rng.choice(["{0}", "{0}", "not {0}"]).format(self.flag())
        if r < 0.88:
            return f"{self.count_param()} > 2"
        return self.rng.choice(["True", "False", "1 + 1 == 2", "x is not None" if "x" in self.scope.vars else "2 > 1"])

    def do_call(self) -> None:
        """Call a function of the program again."""
        raise NotImplementedError
