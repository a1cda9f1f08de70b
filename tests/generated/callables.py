"""Functions, lambdas and nn.Module classes of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from . import tables
from .flow import Flow
from .scope import ATOM, FRAME, Function, Scope, Var


class Callables(Flow):
    """What the program defines and calls."""

    # -- functions -----------------------------------------------------------------------------------------------

    def do_function(self) -> None:
        """A function of the program and its first call, with arguments that require grad."""
        if self.chance(0.25):
            self.do_lambda()
            return
        if self.chance(0.15):
            self.do_fixed_function()
            return
        name = self.new_name(self.rng.choice(["helper", "block", "update", "fuse"]))
        nested = self.chance(0.35)
        fn = self.write_function(name, nested)
        self.scope.functions[name] = fn
        self.call_function(fn, first=True)

    @contextmanager
    def frame(self, indent: int, *, nested: bool, flag: str) -> Iterator[None]:
        """Write a function's body: its own lines and scope, the outer ones afterwards."""
        outer = {name: getattr(self, name) for name in FRAME}
        self.lines, self.indent, self.scope = [], indent, Scope()
        self.nograd, self.loops, self.depth, self.has_index = False, 0, 1, False
        self.written, self.must_use = set(), []
        self.taken = self.taken if nested else set()
        self.flag_name = flag
        yield
        for name, value in outer.items():
            setattr(self, name, value)

    def write_function(self, name: str, nested: bool) -> Function:
        """Write `def name(...)` here or at the top of the file."""
        callees = {k: f for k, f in self.scope.functions.items() if f.top and k.islower()}
        with self.frame(self.indent + 1 if nested else 1, nested=nested, flag="invert"):
            self.scope.functions = callees
            params = []
            for _ in range(self.rng.randint(1, 3)):
                shape = self.rng.choice("MMV")
                v = Var(self.new_name(), shape, grad=True, sure=True, storages=frozenset([next(self.fresh)]))
                params.append(self.put(v))
            self.body(self.rng.randint(1, 4))
            results = self.function_results()
            if self.chance(0.1) and len(results) == 1:
                early = self.pick(results[0].shape)
                if early is not None:
                    with self.block(f"if {self.flag()}:"):
                        self.emit(f"return {early.text}")
                    results = [replace(results[0], storages=results[0].storages | early.storages, sure=early.sure)]
            self.emit("return " + ", ".join(v.text for v in results))
            lines, written = self.lines, frozenset(self.written)
        flags = any("invert" in line for line in lines)
        head = "def {}({}):".format(name, ", ".join([p.text for p in params] + ["invert"] * flags))
        if nested:
            self.emit(head)
            self.lines += lines
        else:
            self.top += [head, *lines, "", ""]
        return Function(name, tuple(params), tuple(results), written, flags, not nested)

    def function_results(self) -> list[Var]:
        found = [v for v in self.scope.vars.values() if v.shape in "MV" and "[" not in v.text and "." not in v.text]
        recent = found[-3:]
        if self.chance(0.3):
            return [self.expression(self.rng.choice("MV"), 1)]
        if self.chance(0.15) and len(recent) > 1:
            return self.rng.sample(recent, 2)
        return [self.rng.choice(recent)]

    def fresh_argument(self, shape: str) -> Var:
        """A new tensor that requires grad and may be written."""
        base = self.pick(shape, lambda v: v.sure and not v.spent) or self.leaf(shape)
        text = self.rng.choice(["{0} * 2.0", "{0} + 1.0", "torch.tanh({0})", "{0}.clone()", "{0}.exp()"])
        return self.assign(self.new_name(), self.derived(text.format(base.text), shape, [base]))

    def call_function(self, fn: Function, *, first: bool = False) -> None:
        args: list[Var] = []
        for p in fn.params:
            writes = bool(p.storages & fn.written)
            used = frozenset().union(*(a.storages for a in args))

            def fits(v: Var, writes: bool = writes, used: frozenset[int] = used) -> bool:
                if v.spent or (first and not v.sure) or v.storages & used:
                    return False
                return not writes or self.can_write(v)

            v = self.pick(p.shape, fits)
            if v is None and self.nograd:
                return
            args.append(v if v is not None else self.fresh_argument(p.shape))
        args = [self.scope.vars.get(a.text, a) for a in args]
        flags = [self.flag() if self.chance(0.8) else self.rng.choice(["True", "False"])] if fn.flags else []
        words = [a.text for a in args]
        if self.chance(0.1) and not fn.name.startswith("fn"):
            words = [f"{p.text}={a.text}" for p, a in zip(fn.params, args, strict=True)]
            flags = [f"invert={flag}" for flag in flags]
        text = f"{fn.name}({', '.join(words + flags)})"
        for p, a in zip(fn.params, args, strict=True):
            if p.storages & fn.written:
                self.wrote(a, list(args))
        names = [self.new_name("r") for _ in fn.results]
        self.emit(f"{', '.join(names)} = {text}")
        for name, result in zip(names, fn.results, strict=True):
            owners = [a for p, a in zip(fn.params, args, strict=True) if p.storages & result.storages]
            value = self.derived("", result.shape, list(args))
            value = replace(
                value,
                text=name,
                sure=value.sure and result.sure,
                grad=value.grad or (result.grad and not self.nograd),
                leaf=any(a.leaf for a in owners),
                frozen=result.frozen or any(a.frozen for a in owners),
                storages=value.storages.union(*(a.storages for a in owners)),
            )
            self.put(value)
            if first:
                self.must_use.append(name)

    def do_fixed_function(self) -> None:
        """Functions of other forms: decorated, recursive, given a function, a partial."""
        source, call, writes, alias = self.rng.choice(tables.FUNCTIONS)
        name = self.new_name("tool")
        self.top += [*source.format(f=name).splitlines(), "", ""]
        args: list[Var] = []
        for letter in "MM"[: call.count("{")]:
            used = frozenset().union(*(a.storages for a in args))

            def fits(v: Var, used: frozenset[int] = used) -> bool:
                return v.sure and self.can_write(v) and not v.storages & used

            args.append(self.pick(letter, fits) or self.fresh_argument(letter))
        args = [self.scope.vars.get(a.text, a) for a in args]
        if writes:
            self.wrote(args[0], args)
        value = self.derived(name + call.format(*(a.text for a in args)), "M", args)
        if alias:
            value = replace(value, storages=args[0].storages)
        if "no_grad" in source and not alias:
            value = replace(value, grad=False, sure=False)
        self.assign(self.new_name("r"), value)

    def do_lambda(self) -> None:
        name = self.new_name("fn")
        text, writes = self.rng.choice(
            [
                ("torch.sigmoid(v)", False),
                ("v * v", False),
                ("v.exp() + 1.0", False),
                ("v.mul_(0.5)", True),
                ("F.relu(v, inplace=True)", True),
                ("v.add_(1.0).exp()", True),
                ("v.detach().mul_(0.5)", True),
            ]
        )
        self.emit(f"{name} = lambda v: {text}")
        p = Var("v", "M", True, True, storages=frozenset([next(self.fresh)]))
        alias = "exp" not in text and writes
        grad = "detach" not in text
        result = replace(p, text="", grad=grad, sure=grad, storages=p.storages if alias else frozenset())
        fn = Function(name, (p,), (result,), p.storages if writes else frozenset())
        self.scope.functions[name] = fn
        self.call_function(fn, first=True)

    def do_closure(self) -> None:
        """A nested function that writes or saves a tensor of its surroundings."""
        v = self.pick("M", lambda v: self.can_write(v) and not v.spent and ATOM.fullmatch(v.text) is not None)
        if v is None or self.nograd:
            return
        name = self.new_name("bump")
        write = self.chance(0.6)
        with self.block(f"def {name}(s):"):
            if write:
                template = self.rng.choice(["{0}.mul_(s)", "{0}.add_(s)", "{0}[0] = s", "torch.sigmoid_({0})"])
            else:
                template = self.rng.choice(["return {0} * s", "return torch.exp({0}) * s", "return {0}.sigmoid() + s"])
            self.emit(template.format(v.text))
        self.body(self.rng.randint(0, 2))
        v = self.scope.vars.get(v.text, v)
        if not self.can_write(v):
            return
        if write:
            self.emit(f"{name}(0.5)")
            self.wrote(v, [])
        else:
            self.assign(self.new_name(), self.derived(f"{name}(2.0)", "M", [v]))

    def do_call(self) -> None:
        if self.scope.functions:
            self.call_function(self.rng.choice(list(self.scope.functions.values())))

    # -- classes -------------------------------------------------------------------------------------------------

    def do_class(self) -> None:
        """An nn.Module at the top of the file, made here and called once with an argument that requires grad."""
        if any(line.startswith("class") for line in self.top) or self.nograd or self.loops:
            return
        self.has_rebindable_state = False
        with self.frame(2, nested=False, flag="self.residual"):
            self.emit("super().__init__()")
            for _ in range(self.rng.randint(1, 4)):
                self.attribute()
            self.methods, self.has_layers = [], self.chance(0.25)
            if self.has_layers:
                made = [m[0] for m in self.rng.choices(tables.MODULES, k=3) if "M" in m[1]]
                self.emit(f"self.layers = nn.ModuleList([{', '.join(made)}])")
            init, self.lines = self.lines, []
            param = self.put(Var(self.new_name("x"), "M", True, True, storages=frozenset([next(self.fresh)])))
            for _ in range(self.rng.randint(2, 5)):
                moves = [
                    (3, self.do_module),
                    (2, self.do_assign),
                    (2, self.do_write),
                    (1, self.self_state),
                    (1, self.do_if),
                ]
                self.move([(float(w), m) for w, m in moves])
            if self.chance(0.3):
                self.body(1)
            results = self.function_results()[:1]
            self.emit(f"return {results[0].text}")
            forward, written = self.lines, frozenset(self.written)
        flags = any("self.residual" in line for line in forward)
        if flags:
            init.append("        self.residual = residual")
        self.top += ["class Net(nn.Module):", f"    def __init__(self{', residual' if flags else ''}):", *init, ""]
        self.top += [*self.methods, f"    def forward(self, {param.text}):", *forward, "", ""]
        name = self.new_name(self.rng.choice(["net", "model"]))
        self.emit(f"{name} = Net({self.flag() if flags else ''})")
        fn = Function(name, (param,), tuple(results), written)
        self.call_function(fn, first=True)
        if not self.has_rebindable_state:
            self.scope.functions[name] = fn

    def attribute(self) -> None:
        r = self.rng.random()
        if r < 0.65:
            name = "self." + self.new_name(self.rng.choice(["lin", "norm", "act", "drop", "body"]))
            ctor, made = self.module_ctor()
            self.emit(f"{name} = {ctor}")
            self.scope.modules[name] = replace(made, text=name)
        elif r < 0.85:
            name, shape = "self." + self.new_name("scale"), self.rng.choice("MV")
            self.emit(f"{name} = nn.Parameter(torch.ones({'4, 4' if shape == 'M' else '4'}))")
            self.put(Var(name, shape, True, True, leaf=True, storages=frozenset([next(self.fresh)])))
        else:
            name, shape = self.new_name("state"), self.rng.choice("MV")
            self.emit(f"self.register_buffer('{name}', torch.zeros({'4, 4' if shape == 'M' else '4'}))")
            self.put(Var(f"self.{name}", shape, storages=frozenset([next(self.fresh)])))

    def self_helper(self) -> None:
        """A method of the class, called from forward."""
        v = self.pick("M", lambda v: self.can_write(v))
        if v is None:
            return
        kind, body, writes, alias = self.rng.choice(tables.METHODS)
        name = self.new_name("part")
        head = [f"    def {name}({'' if kind == '@staticmethod' else 'self, '}v):", *(f"        {x}" for x in body)]
        self.methods += ([f"    {kind}"] if kind else []) + head + [""]
        value = self.derived(f"self.{name}({v.text})", "M", [v], keeps=alias)
        if writes:
            self.wrote(v, [])
        self.assign(self.new_name(), value)

    def self_layers(self) -> None:
        """A loop over the ModuleList of the class."""
        if not self.has_layers:
            return
        v = self.operand("M")
        h = self.assign(self.new_name(), self.derived(f"{v.text} * 1.0", "M", [v]))
        step = self.rng.choice(["{h} = layer({h})", "{h} = {h} + layer({h})", "{h} += layer({h})"])
        with self.loop("for layer in self.layers:"):
            self.emit(step.format(h=h.text))
        self.put(h)

    def self_state(self) -> None:
        """Keep a tensor on self, to be used later."""
        v = self.pick("M", lambda v: not v.leaf and not v.text.startswith("self."))
        if v is not None:
            self.assign("self." + self.new_name("last"), v)
