"""Simple statements: assignments, views, aliases and writes."""

from __future__ import annotations

import re
from dataclasses import replace

from . import tables
from .core import Core
from .scope import SHAPES, Var, merge, wrapped


class Statements(Core):
    """What one line can say."""

    # -- statements ----------------------------------------------------------------------------------------------

    def do_assign(self) -> None:
        shape = self.rng.choices(SHAPES, [8, 4, 1, 1])[0]
        value = self.expression(shape, 1)
        if self.chance(0.06):
            other = self.expression(shape, 0)
            text = f"{value.text} if {self.condition()} else {other.text}"
            value = replace(value, text=text, grad=value.grad or other.grad, sure=value.sure and other.sure)
        self.assign(self.target_name(shape), value)

    def do_leaf(self) -> None:
        self.leaf() if self.chance(0.5) and not self.in_function else self.data()

    def do_view(self) -> None:
        shape = self.rng.choice("MMV")
        arg = self.pick(shape, lambda v: not v.spent)
        if arg is None:
            return
        if self.chance(0.12):
            template, shape = self.rng.choice(tables.EXPANDS)
            arg = self.pick(shape, lambda v: not v.spent)
            if arg is not None:
                self.assign(
                    self.new_name(), self.derived(template.format(arg.text), "M", [arg], keeps=True, frozen=True)
                )
            return
        if arg.shape == "M" and self.chance(0.15):
            self.several_views(arg)
            return
        template, _, result = self.rng.choice([v for v in tables.VIEWS if v[1] == arg.shape])
        value = self.derived(template.format(arg.text), result, [arg], keeps=True)
        fresh = self.loops or value.leaf or self.chance(0.8)
        self.assign(self.new_name() if fresh else self.target_name(result), value)

    def several_views(self, arg: Var) -> None:
        names = [self.new_name() for _ in range(2)]
        other = self.operand("M")
        template, shape, shares = self.rng.choice(
            [
                ("torch.cat([{0}, {1}]).chunk(2)", "M", False),
                ("torch.cat([{0}, {1}]).split(4)", "M", False),
                ("torch.stack([{0}, {1}]).unbind(0)", "M", False),
                ("torch.stack([{0}, {1}])", "M", False),
                ("{0}[:2].unbind(0)", "V", True),
                ("{0}[1:3]", "V", True),
            ]
        )
        text = template.format(arg.text, other.text)
        parts = [arg] if shares else [arg, other]
        value = self.derived(text, shape, parts, keeps=shares, frozen=True)
        self.emit(f"{', '.join(names)} = {text}")
        for name in names:
            self.put(replace(value, text=name))

    def do_alias(self) -> None:
        arg = self.pick(self.rng.choice("MMV"), lambda v: not v.spent)
        if arg is None:
            return
        kind = self.rng.choices(["name", "detach", "data", "clone"], [3, 3, 1, 3])[0]
        if kind == "name":
            names = self.rebindable(arg.shape)
            fresh = self.loops or arg.leaf or not names or self.chance(0.7)
            self.assign(self.new_name() if fresh else self.rng.choice(names), arg)
        elif kind == "clone":
            self.assign(self.target_name(arg.shape), self.derived(f"{arg.text}.clone()", arg.shape, [arg]))
        else:
            value = replace(
                arg, text=f"{arg.text}.{kind}{'()' if kind == 'detach' else ''}", grad=False, sure=False, leaf=False
            )
            self.assign(self.new_name(), value)

    def do_write(self, target: Var | None = None) -> None:
        if target is None and self.chance(0.06):
            self.write_index()
            return
        if target is None:
            target = self.pick(self.rng.choices(SHAPES, [8, 4, 1, 1])[0], self.can_write)
        if target is None:
            return
        if not target.grad and self.chance(0.15) and self.write_out(target):
            return
        r = self.rng.random()
        if r < 0.12:
            self.write_call(target)
        elif r < 0.6:
            choices = [t for t in tables.UNARY_WRITES if self.suits(t, target)]
            name = self.rng.choice(tables.UNARY_WRITE_NAMES)
            if self.chance(0.3):
                template = f"{{t}}.{name}_()"
            elif tables.SHAPED_WRITES[target.shape] and self.chance(0.4):
                choices = [t for t in tables.SHAPED_WRITES[target.shape] if self.suits(t, target)]
                template = self.rng.choice(choices)
            else:
                template = self.rng.choice(choices)
            self.emit(template.format(t=target.text))
            self.wrote(target, [])
        else:
            pairs = tables.BINARY_WRITES
            if tables.SHAPED_BINARY_WRITES[target.shape] and self.chance(0.45):
                pairs = tables.SHAPED_BINARY_WRITES[target.shape]
            template, letters = self.rng.choice([p for p in pairs if self.suits(p[0], target)])
            operands = [self.write_operand(target, target.shape if letter == "X" else letter) for letter in letters]
            target = self.scope.vars.get(target.text, target)
            self.emit(template.format(*(o.text for o in operands), t=target.text))
            self.wrote(target, operands)

    def write_operand(self, target: Var, shape: str) -> Var:
        """What is written: another tensor, whose memory does not overlap the target's, or a new value."""
        other = self.pick(shape, lambda v: not v.spent and not v.storages & target.storages)
        if other is not None and self.chance(0.7):
            return other
        if shape in "ijb":
            return other or self.index_data(shape)
        value = self.expression(shape, 0)
        return replace(value, text=wrapped(value.text))

    def suits(self, template: str, target: Var) -> bool:
        """Whether this write can be said of this target: statements that rebind need a name, list or dict element."""
        rebinds = re.match(r"\{t\} \S*=", template) is not None
        if rebinds and (self.element_of(target.text) == "tuple" or ("." in target.text and "{t} =" in template)):
            return False
        if "@=" in template or "{t} =" in template:
            return not self.nograd and target.text not in self.must_use
        return not ("t_()" in template and ("view" in template or self.in_function))

    def write_call(self, target: Var) -> None:
        """Function spellings of unary writes: torch.relu_(t), F.relu(t, inplace=True), act(t)."""
        r = self.rng.random()
        modules = [m for m in self.scope.modules.values() if m.writes and target.shape in m.shapes]
        if r < 0.3:
            text = f"torch.{self.rng.choice(tables.FUNCTION_WRITE_NAMES)}_({target.text})"
        elif r < 0.5:
            text = f"F.{self.rng.choice(tables.FUNCTIONAL_WRITE_NAMES)}({target.text})"
        elif r < 0.75 or not modules:
            text = f"F.{self.rng.choice(tables.INPLACE_KEYWORD_NAMES)}({target.text}, inplace=True)"
        else:
            text = f"{self.rng.choice(modules).text}({target.text})"
        self.wrote(target, [])
        target = self.scope.vars.get(target.text, target)
        if self.chance(0.5):
            self.emit(text)
        elif target.text not in self.must_use and not target.leaf and target.text in self.rebindable(target.shape):
            self.assign(target.text, replace(target, text=text))
        else:
            self.assign(self.new_name(), replace(target, text=text))

    def write_out(self, target: Var) -> bool:
        if target.shape not in tables.OUT_WRITES or target.frozen:
            return False
        template, letters = self.rng.choice(tables.OUT_WRITES[target.shape])
        operands = []
        for letter in letters:
            v = self.pick(letter, lambda v: (self.nograd or not v.grad) and not v.storages & target.storages)
            if v is None:
                return False
            operands.append(v)
        self.emit(template.format(*(o.text for o in operands), t=target.text))
        self.wrote(target, [])
        return True

    def write_index(self) -> None:
        target = self.pick(self.rng.choice("iijb"))
        if target is None or self.element_of(target.text) is not None:
            return
        template = self.rng.choice(tables.MASK_WRITES if target.shape == "b" else tables.INDEX_WRITES)
        self.emit(template.format(t=target.text))
        self.wrote(target, [])

    def do_module(self) -> None:
        if not self.in_function and (not self.scope.modules or self.chance(0.3)):
            self.module()
        shape = self.rng.choice("MMV")
        value = self.module_call(shape, pure=False)
        if value is None:
            return
        arg = value.text[value.text.index("(") + 1 : -1]
        if arg in self.rebindable(shape) and self.chance(0.4) and not (self.loops and value.leaf):
            self.assign(arg, value)
        elif self.chance(0.15) and value.storages:
            self.emit(value.text)
        elif self.chance(0.2):
            target = self.pick(shape, lambda v: self.can_write(v) and not v.storages & value.storages)
            if target is not None and self.suits("{t} += {0}", target):
                self.emit(f"{target.text} += {value.text}")
                self.wrote(target, [value])
                return
            self.assign(self.new_name(), value)
        else:
            self.assign(self.new_name(), value)

    def do_no_grad(self) -> None:
        if self.nograd:
            return
        before = self.scope.copy()
        self.nograd = True
        with self.block(self.rng.choice(["with torch.no_grad():"] * 4 + ["with torch.set_grad_enabled(False):"])):
            if self.chance(0.5):
                target = self.pick(self.rng.choice("MV"), self.can_write)
                self.do_write(target)
            else:
                for _ in range(self.rng.randint(1, 2)):
                    self.rng.choice([self.do_assign, self.do_write, self.do_write])()
        self.nograd = False
        self.scope = merge(self.scope, before)

    def do_number(self) -> None:
        """A value that leaves the graph, and a result nobody reads."""
        v = self.pick(self.rng.choice("MV"), lambda v: not v.spent)
        if v is None:
            return
        if self.chance(0.6):
            name = self.new_name(self.rng.choice(["peak", "total", "lr"]))
            template = self.rng.choice(
                ["{0}.abs().max().item()", "float({0}.sum())", "{0}.norm().item()", "{0}.exp().mean().item()"]
            )
            self.emit(f"{name} = {template.format(v.text)}")
            self.scope.numbers.append(name)
        else:
            self.emit(f"_ = {self.expression(v.shape, 0).text}")

    def do_odd_assign(self) -> None:
        """Chained targets, a walrus, several targets."""
        shape = self.rng.choice("MMV")
        a, b = self.new_name(), self.new_name()
        value = self.expression(shape, 0)
        r = self.rng.random()
        if r < 0.35:
            self.emit(f"{a} = {b} = {value.text}")
            self.put(replace(value, text=a))
            self.put(replace(value, text=b))
        elif r < 0.7:
            self.put(replace(value, text=b))
            template = self.rng.choice(["({b} := {v}) * 2.0", "torch.exp({b} := {v})", "({b} := {v}).clone() + 1.0"])
            self.assign(a, self.derived(template.format(b=b, v=value.text), shape, [value]))
        else:
            other = self.expression(shape, 0)
            self.emit(f"{a}, {b} = {value.text}, {other.text}")
            self.put(replace(value, text=a))
            self.put(replace(other, text=b))

    def do_layer(self) -> None:
        """Modules that take or give more than one tensor."""
        x, name = self.operand("M"), self.new_name(self.rng.choice(["emb", "mha", "cell"]))
        if self.in_function or self.nograd:
            return
        h = self.new_name()
        r = self.rng.random()
        if r < 0.3:
            idx = self.operand("i")
            self.emit(f"{name} = nn.Embedding(4, 4)")
            value, parts = f"{name}({idx.text})", []
        elif r < 0.6:
            self.emit(f"{name} = nn.MultiheadAttention(4, 2)")
            value, parts = f"{name}({x.text}, {x.text}, {x.text})[0]", [x]
        elif r < 0.8:
            self.emit(f"{name} = nn.LSTMCell(4, 4)")
            self.emit(f"{h}, {self.new_name('c')} = {name}({x.text})")
            self.put(replace(self.derived("", "M", [x]), text=h, grad=True, sure=True))
            return
        else:
            self.emit(f"{name} = nn.{self.rng.choice(['GRU', 'LSTM'])}(4, 4)")
            value, parts = f"{name}({x.text})[0]", [x]
        self.assign(h, replace(self.derived(value, "M", parts), grad=True, sure=True))

    def do_python_noise(self) -> None:
        """In-place statements on what is no tensor."""
        name = self.new_name(self.rng.choice(["steps", "seen", "log"]))
        first, then = self.rng.choice(
            [("0", "{0} += 1"), ("[]", "{0} += [1]"), ("[0, 0]", "{0}[0] += 1"), ("{{'k': 0}}", "{0}['k'] += 1")]
        )
        self.emit(f"{name} = {first.format()}")
        self.emit(then.format(name))
