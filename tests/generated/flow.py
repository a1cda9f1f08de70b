"""Groups of tensors, branches and loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from . import tables
from .idioms import IDIOMS
from .scope import Group, Var, merge
from .statements import Statements

CHOICE = re.compile("«(.*?)»", re.DOTALL)


class Flow(Statements):
    """Statements that hold others, and what they run over."""

    # -- groups of tensors ---------------------------------------------------------------------------------------

    def do_group(self) -> None:
        shape = self.rng.choice("MMV")
        parts = [v for v in (self.pick(shape, lambda v: not v.spent) for _ in range(self.rng.randint(2, 3))) if v]
        if len(parts) < 2:
            return
        values = [v if self.chance(0.6) else self.expression(shape, 0) for v in parts]
        kind = self.rng.choice(["list", "list", "list", "tuple", "dict"])
        name = self.new_name({"list": "xs", "tuple": "pair", "dict": "cache"}[kind])
        keys = tuple(repr("abc"[i]) if kind == "dict" else str(i) for i in range(len(values)))
        texts = [v.text for v in values]
        if kind == "dict":
            source = "{" + ", ".join(f"{k}: {t}" for k, t in zip(keys, texts, strict=True)) + "}"
        else:
            source = ("[{}]" if kind == "list" else "({})").format(", ".join(texts))
        self.emit(f"{name} = {source}")
        self.scope.groups[name] = Group(name, kind, keys, shape)
        for key, v in zip(keys, values, strict=True):
            self.put(replace(v, text=f"{name}[{key}]"))

    def elements(self, g: Group) -> list[Var]:
        return [self.scope.vars[f"{g.name}[{key}]"] for key in g.keys]

    def one_of(self, text: str, g: Group) -> Var:
        """The loop variable that stands for each element in turn."""
        vs = self.elements(g)
        return Var(
            text,
            g.shape,
            any(v.grad for v in vs),
            all(v.sure for v in vs),
            any(v.leaf for v in vs),
            any(v.frozen for v in vs),
            any(v.spent for v in vs),
            frozenset().union(*(v.storages for v in vs)),
        )

    def do_group_use(self) -> None:
        usable = [g for g in self.scope.groups.values() if not any(v.spent for v in self.elements(g))]
        if not usable:
            self.do_group()
            return
        g = self.rng.choice(usable)
        items = self.elements(g)
        whole = f"list({g.name}.values())" if g.kind == "dict" else g.name
        r = self.rng.random()
        if r < 0.3:
            template = self.rng.choice(
                ["torch.stack({0}).sum(0)", "torch.cat({0})[:4]", "sum({0})", "torch.stack({0})[0]"]
            )
            self.assign(self.new_name(), self.derived(template.format(whole), g.shape, items))
        elif r < 0.45 and g.kind != "dict":
            names = [self.new_name() for _ in items]
            self.emit(f"{', '.join(names)} = {g.name}")
            for name, v in zip(names, items, strict=True):
                self.put(replace(v, text=name))
        elif r < 0.6:
            v = self.one_of("v", g)
            template = self.rng.choice(["torch.sigmoid(v)", "v * 2.0", "v.exp()", "v.clone()", "v * v", "v + 1.0"])
            name = self.new_name("ys")
            self.emit(f"{name} = [{template} for v in {whole}]")
            keys = tuple(str(i) for i in range(len(items)))
            self.scope.groups[name] = Group(name, "list", keys, g.shape)
            for key in keys:
                self.put(replace(self.derived("", g.shape, [v]), text=f"{name}[{key}]"))
        elif r < 0.65:
            self.comprehension(g, whole, items)
        elif r < 0.75 and len(self.rebindable(g.shape)) >= 2 and not self.loops:
            a, b = self.rng.sample(self.rebindable(g.shape), 2)
            va, vb = self.scope.vars[a], self.scope.vars[b]
            self.emit(f"{a}, {b} = {b}, {a}")
            self.put(replace(vb, text=a))
            self.put(replace(va, text=b))
        else:
            self.loop_over_group(g)

    def comprehension(self, g: Group, whole: str, items: list[Var]) -> None:
        """A comprehension that writes, a generator, a dict loop that writes its values, a starred target."""
        v = self.one_of("v", g)
        writable = all(self.can_write(item) for item in items)
        r = self.rng.random()
        if r < 0.3 and writable:
            text = self.rng.choice(["v.mul_(0.5)", "torch.sigmoid_(v)", "F.relu(v, inplace=True)", "v.add_(1.0).exp()"])
            name = self.new_name("ys")
            self.emit(f"{name} = [{text} for v in {whole}]")
            self.wrote(v, [])
            self.assign(self.new_name(), self.derived(f"sum({name})", g.shape, [v]))
        elif r < 0.6:
            text = self.rng.choice(["torch.sigmoid(v)", "v * v", "v.exp()", "v.mean() * v"])
            self.assign(self.new_name(), self.derived(f"sum({text} for v in {whole})", g.shape, [v]))
        elif g.kind == "dict":
            text = self.rng.choice(
                ["{0} = {0} * 2.0", "{0} = torch.tanh({0})", "{0} += 1.0", "{0} *= {0}", "{0}.exp_()"]
            )
            writes = " = " not in text
            if writes and not writable:
                return
            with self.loop(f"for key in {g.name}:"):
                self.emit(text.format(f"{g.name}[key]"))
            if writes:
                self.wrote(v, [])
            for key in g.keys:
                own = frozenset([next(self.fresh)]) | v.storages
                self.put(replace(v, text=f"{g.name}[{key}]", leaf=writes and v.leaf, storages=own))
        else:
            first, rest = self.new_name(), self.new_name("rest")
            self.emit(f"{first}, *{rest} = {g.name}")
            self.put(replace(items[0], text=first))
            keys = tuple(str(i) for i in range(len(items) - 1))
            self.scope.groups[rest] = Group(rest, "list", keys, g.shape)
            for key, item in zip(keys, items[1:], strict=True):
                self.put(replace(item, text=f"{rest}[{key}]"))

    def do_idiom(self) -> None:
        """A piece of several lines from the table of idioms."""
        if self.nograd:
            return
        source, letters, shape, kind = self.rng.choice(IDIOMS)
        if (kind == "nested" and self.in_function) or ("M({0})" in source and "i" in letters and self.loops):
            return
        parts = []
        for letter in letters:
            if letter == "d":
                parts.append(self.pick("M", lambda v: not v.grad) or self.data("M"))
            elif letter in "ij":
                parts.append(self.index_data(letter))
            else:
                parts.append(self.operand(letter))
        source = CHOICE.sub(lambda m: self.rng.choice(m[1].split("|")), source)
        names = {key: self.new_name() for key in "rskc"}
        text = source.format(*(p.text for p in parts), **names, flag=self.flag() if "{flag}" in source else "")
        for line in text.splitlines():
            if line != "pass":
                self.emit(line)
        value = self.derived("", shape, parts, keeps=kind == "alias")
        if kind in ("constant", "leaf"):
            value = replace(value, grad=kind == "leaf", sure=kind == "leaf", leaf=kind == "leaf", spent=False)
            value = replace(value, storages=parts[0].storages if kind == "leaf" else value.storages)
        elif kind == "trained":
            value = replace(value, grad=True, sure=True)
        self.put(replace(value, text=names["r"]))

    # -- branches ------------------------------------------------------------------------------------------------

    def do_if(self) -> None:
        condition = self.condition()
        before = self.scope.copy()
        with self.block(f"if {condition}:"):
            self.body(self.rng.randint(1, 2))
        after = self.scope
        self.scope = before.copy()
        if self.chance(0.5):
            with self.block("else:"):
                self.body(self.rng.randint(1, 2))
        self.scope = merge(after, self.scope)

    def do_try(self) -> None:
        before = self.scope.copy()
        caught = self.chance(0.5)
        with self.block("try:"):
            if caught:
                if self.chance(0.5):
                    self.body(1)
                with self.block(f"if {self.flag()}:"):
                    self.emit("raise ValueError")
            self.body(1)
        if not caught:
            with self.block("finally:"):
                self.body(1)
            return
        after, self.scope = self.scope, merge(self.scope, before)
        with self.block("except ValueError:"):
            self.body(1)
        self.scope = merge(after, self.scope)

    def do_match(self) -> None:
        before = self.scope.copy()
        with self.block(f"match {self.flag()}:"):
            with self.block("case True:"):
                self.body(1)
            after, self.scope = self.scope, before
            with self.block("case _:"):
                self.body(1)
        self.scope = merge(after, self.scope)

    # -- loops ---------------------------------------------------------------------------------------------------

    def body(self, statements: int) -> None:
        moves: list[tuple[float, Callable[[], None]]] = [
            (5, self.do_assign),
            (5, self.do_write),
            (1, self.do_view),
            (1, self.do_alias),
            (1, self.do_module),
            (0.5, self.do_number),
            (0.4, self.do_idiom),
        ]
        if self.scope.functions:
            moves.append((0.4, self.do_call))
        if self.depth < 3:
            moves += [(0.6, self.do_if), (0.4, self.do_no_grad), (0.3, self.do_for), (0.15, self.do_try)]
            moves += [(0.1, self.do_match)]
        for _ in range(statements):
            self.move(moves)

    def move(self, moves: list[tuple[float, Callable[[], None]]]) -> None:
        self.rng.choices([m for _, m in moves], [w for w, _ in moves])[0]()

    @contextmanager
    def loop(self, head: str) -> Iterator[None]:
        """A loop whose body may run not at all."""
        before = self.scope.copy()
        self.loops += 1
        with self.block(head):
            yield
        self.loops -= 1
        self.scope = merge(self.scope, before)

    def do_for(self) -> None:
        kinds = [
            (3, self.for_range),
            (2.5, self.for_table),
            (1, self.for_append),
            (1, self.for_rows),
            (1, self.for_carried),
            (1, self.for_accumulate),
            (1, self.for_layers),
            (0.7, self.do_while),
            (1.5, self.for_group),
            (0.7, self.for_cell),
        ]
        self.move([(float(w), k) for w, k in kinds])

    def range_text(self) -> str:
        if self.chance(0.15) and not self.in_function:
            return f"range({self.count_param()})"
        return self.rng.choice(["range(2)", "range(3)", "range(3)", "range(4)", "reversed(range(3))"])

    def for_range(self) -> None:
        had = self.has_index
        index = "i" if not had else self.new_name("k")
        with self.loop(f"for {index} in {self.range_text()}:"):
            self.has_index = True
            if self.chance(0.3):
                self.indexed_statement(index)
            self.body(self.rng.randint(1, 3))
            if self.chance(0.1):
                self.emit(f"if {index} == 1:")
                self.lines.append("    " * (self.indent + 1) + self.rng.choice(["break", "continue"]))
        self.has_index = had

    def indexed_statement(self, index: str) -> None:
        """Rows by the loop's index."""
        target = self.pick("M", self.can_write)
        if target is None:
            return
        row = self.write_operand(target, "V")
        template = self.rng.choice(
            ["{t}[{i}] = {0}", "{t}[{i}] += {0}", "{t}[:, {i}] = {0}", "{t}[{i}] = {t}[{i}] * {0}", "{t}[{i}] *= {0}"]
        )
        target = self.scope.vars.get(target.text, target)
        self.emit(template.format(row.text, t=target.text, i=index))
        self.wrote(target, [row])

    def for_table(self) -> None:
        """A table filled step by step from its own rows."""
        w = self.operand("V")
        m = self.operand("M")
        name = self.new_name(self.rng.choice(["table", "out", "alpha"]))
        as_list = self.chance(0.3)
        self.emit(
            f"{name} = [{w.text}]"
            if as_list
            else f"{name} = {self.rng.choice(['torch.zeros(4, 4)', f'{m.text}.clone()'])}"
        )
        i = "t" if not self.has_index else self.new_name("t")
        step = self.rng.choice(
            [
                "torch.tanh({p} + {w})",
                "{p} * {w}",
                "{p} + {w}",
                "{p} @ {m}",
                "torch.sigmoid({p}) * {w}",
                "{m}[{i}] * {w} + {p}",
                "torch.logsumexp({p} + {m}, dim=0)",
                "0.5 * {p} + {w}",
                "torch.maximum({p}, {w})",
                "{p}.clone() * {w}",
                "{p}.relu() + {w}",
            ]
        )
        previous = f"{name}[-1]" if as_list else f"{name}[{i} - 1]"
        text = step.format(p=previous, w=w.text, m=m.text, i=i)
        table = Var(name, "M", w.grad or m.grad, False, storages=frozenset([next(self.fresh)]))
        sure = not self.nograd and (w.sure or ("{m}" in step and m.sure))
        with self.loop(f"for {i} in range(1, 4):"):
            if as_list:
                self.emit(f"{name}.append({text})")
            elif self.chance(0.3):
                inner = self.new_name("row")
                self.emit(f"{inner} = {text}")
                self.emit(f"{name}[{i}] = {inner}")
            else:
                self.emit(f"{name}[{i}] = {text}")
        if as_list:
            table = self.derived(f"torch.stack({name})", "M", [w, m])
            self.assign(self.new_name(), replace(table, sure=sure, grad=sure or table.grad))
        else:
            self.put(replace(table, sure=sure, grad=not self.nograd and table.grad, spent=False))

    def for_append(self) -> None:
        name = self.new_name("states")
        self.emit(f"{name} = []")
        v = self.operand(self.rng.choice("MV"))
        had, self.has_index = self.has_index, True
        with self.loop(f"for {'i' if not had else '_'} in range(3):"):
            self.has_index = had or True
            self.body(self.rng.randint(0, 1))
            v = self.scope.vars.get(v.text) or self.operand(v.shape)
            value = self.expression(v.shape, 0) if self.chance(0.5) else v
            self.emit(f"{name}.append({value.text})")
            if self.chance(0.4) and self.can_write(v):
                self.do_write(v)
        self.has_index = had
        template = self.rng.choice(["torch.stack({0}).sum(0)", "torch.cat({0})[:4]", "{0}[-1] * {0}[0]", "sum({0})"])
        self.assign(self.new_name(), self.derived(template.format(name), value.shape, [value]))

    def for_rows(self) -> None:
        v = self.operand("M")
        total = self.new_name("total")
        self.emit(f"{total} = torch.zeros(4)")
        row = self.new_name("row")
        head = f"for {row} in {v.text}:"
        if self.chance(0.3):
            head = f"for {self.new_name('j')}, {row} in enumerate({v.text}):"
        with self.loop(head):
            text = self.rng.choice(["{0}", "{0}.exp()", "{0} * {0}", "torch.sigmoid({0})"]).format(row)
            if self.chance(0.5):
                self.emit(f"{total} = {total} + {text}")
            else:
                self.emit(f"{total} {self.rng.choice(['+=', '+=', '-=', '*='])} {text}")
        self.put(replace(self.derived("", "V", [v]), text=total))

    def for_carried(self) -> None:
        """A recurrent state."""
        shape = self.rng.choice("MV")
        name = self.new_name(self.rng.choice(["h", "state"]))
        self.emit(f"{name} = {self.rng.choice(tables.DATA[shape][:3])}")
        w = self.operand(shape)
        m = self.operand("M")
        step = self.rng.choice(
            [
                "{h} = torch.tanh({h} + {w})",
                "{h} = {h} * {w}",
                "{h} = torch.tanh({h} @ {m})",
                "{h} += {w}",
                "{h} += {w} * {w}",
                "{h} *= {w}",
                "{h} += torch.sigmoid({h})",
                "{h} = {h} + torch.sigmoid({h} * {w})",
                "{h} = 0.9 * {h} + {w}",
                "{h}.mul_(0.9).add_({w})",
                "{h} = torch.relu({h} - {w})",
                "{h} = F.relu_({h} + {w})",
            ]
        )
        with self.loop(f"for _ in {self.range_text()}:"):
            self.emit(step.format(h=name, w=w.text, m=m.text))
            if self.chance(0.4):
                v = Var(name, shape, grad=w.grad and not self.nograd, storages=frozenset([next(self.fresh)]))
                self.put(v)
                self.do_write(v)
            if self.chance(0.3):
                self.body(1)
        parts = [w, m] if "{m}" in step else [w]
        self.put(replace(self.derived("", shape, parts), text=name, sure=False))

    def for_cell(self) -> None:
        """A recurrent cell over the rows of a tensor, its states kept in a table or a list."""
        if self.in_function:
            return
        x = self.operand("M")
        cell, h = self.new_name("cell"), self.new_name("h")
        kind = self.rng.choice(["GRUCell", "RNNCell"])
        self.emit(f"{cell} = nn.{kind}(4, 4)")
        out = self.new_name("out")
        as_list = self.chance(0.4)
        self.emit(f"{out} = {'[]' if as_list else 'torch.zeros(4, 4)'}")
        self.emit(f"{h} = torch.zeros(4)")
        back = not as_list and self.chance(0.4)
        with self.loop("for t in range(4):"):
            self.emit(f"{h} = {cell}({x.text}[t], {f'{out}[t - 1]' if back else h})")
            if self.chance(0.3):
                self.emit(
                    h + self.rng.choice([" += 1.0", ".mul_(0.5)", " = F.relu_({0})", " *= torch.rand(4)"]).format(h)
                )
            self.emit(f"{out}.append({h})" if as_list else f"{out}[t] = {h}")
        value = self.derived(f"torch.stack({out})", "M", [x])
        value = replace(value, grad=not self.nograd, sure=not self.nograd)
        if as_list:
            self.assign(self.new_name(), value)
        else:
            self.put(replace(value, text=out))

    def for_accumulate(self) -> None:
        v = self.operand("M")
        total = self.new_name("total")
        self.emit(f"{total} = {self.rng.choice(['0.0', 'torch.zeros(())'])}")
        with self.loop(f"for _ in {self.range_text()}:"):
            self.body(1)
            v = self.scope.vars.get(v.text) or self.operand("M")
            text = self.rng.choice(["{0}.sum()", "{0}.exp().sum()", "({0} * {0}).mean()", "{0}.norm()"]).format(v.text)
            self.emit(f"{total} = {total} + {text}" if self.chance(0.5) else f"{total} += {text}")
        if not self.in_function:
            self.put(replace(self.derived("", "S", [v]), text=total, sure=False))

    def for_layers(self) -> None:
        """A list of modules applied in turn."""
        if self.in_function:
            return
        made = [self.rng.choice(tables.MODULES) for _ in range(self.rng.randint(2, 3))]
        made = [m for m in made if "M" in m[1]]
        name = self.new_name("layers")
        source = ", ".join(m[0] for m in made)
        self.emit(f"{name} = nn.ModuleList([{source}])" if self.chance(0.5) else f"{name} = [{source}]")
        start = self.pick("M", lambda v: not v.spent and self.can_write(v))
        if start is None:
            return
        h = self.assign(self.new_name(), self.derived(f"{start.text} * 1.0", "M", [start]))
        step = self.rng.choice(
            [
                "{h} = layer({h})",
                "{h} = layer({h})",
                "{h} = {h} + layer({h})",
                "{h} += layer({h})",
                "{h} = layer({h}.clone())",
            ]
        )
        with self.loop(f"for layer in {name}:"):
            self.emit(step.format(h=h.text))
        if any(m[3] for m in made) and not self.nograd:
            h = replace(h, grad=True)
        self.put(h)

    def do_while(self) -> None:
        k = self.new_name("step")
        self.emit(f"{k} = 0")
        with self.loop(f"while {k} < 3:"):
            self.body(self.rng.randint(1, 2))
            self.emit(f"{k} += 1")

    def for_group(self) -> None:
        if not self.scope.groups:
            self.do_group()
        usable = [g for g in self.scope.groups.values() if not any(v.spent for v in self.elements(g))]
        if usable:
            self.loop_over_group(self.rng.choice(usable))

    def loop_over_group(self, g: Group) -> None:
        name = self.new_name("item")
        i = self.new_name("j")
        if g.kind == "dict":
            head = f"for {i}, {name} in {g.name}.items():"
        else:
            others = [o for o in self.scope.groups.values() if o.kind != "dict" and len(o.keys) == len(g.keys)]
            if self.chance(0.25) and others:
                other = self.rng.choice(others)
                second = self.new_name("other")
                with self.loop(f"for {name}, {second} in zip({g.name}, {other.name}):"):
                    self.put(self.one_of(second, other))
                    self.item_body(self.put(self.one_of(name, g)))
                return
            if self.chance(0.2) and g.kind == "list":
                self.neighbours(g, i)
                return
            head = self.rng.choice([f"for {name} in {g.name}:", f"for {i}, {name} in enumerate({g.name}):"])
        with self.loop(head):
            self.item_body(self.put(self.one_of(name, g)))

    def item_body(self, item: Var) -> None:
        for _ in range(self.rng.randint(1, 2)):
            item = self.scope.vars.get(item.text, item)
            r = self.rng.random()
            if r < 0.4 and self.can_write(item):
                self.do_write(item)
            elif r < 0.7:
                names = [n for n in self.rebindable(item.shape) if n != item.text]
                if names:
                    name = self.rng.choice(names)
                    text = self.rng.choice(["{0} + {1}", "{0} * {1}", "{0} + torch.exp({1})", "torch.tanh({0} * {1})"])
                    parts = [self.scope.vars[name], item]
                    self.assign(name, self.derived(text.format(name, item.text), item.shape, parts))
            else:
                self.body(1)

    def neighbours(self, g: Group, i: str) -> None:
        """xs[i] and xs[i - 1], by index."""
        merged = self.one_of(g.name, g)
        step = self.rng.choice(
            [
                "{x}[{i}] = {x}[{i}] + {x}[{i} - 1]",
                "{x}[{i}] = {x}[{i}] * {x}[{i} - 1]",
                "{x}[{i}] = torch.sigmoid({x}[{i} - 1])",
                "{x}[{i}] += {x}[{i} - 1]",
                "{x}[{i}] *= {x}[{i} - 1]",
                "{x}[{i} - 1] += {x}[{i}].exp()",
                "{x}[{i}].add_({x}[{i} - 1])",
                "{x}[{i}].mul_({x}[{i} - 1].detach())",
            ]
        )
        writes = not re.match(r"\{x\}\[\{i\}\] =", step)
        if writes and not self.can_write(merged):
            return
        with self.loop(f"for {i} in range(1, len({g.name})):"):
            self.emit(step.format(x=g.name, i=i))
            if writes:
                self.wrote(merged, [merged])
        for key in g.keys:
            v = self.scope.vars[f"{g.name}[{key}]"]
            self.put(replace(merged, text=v.text, storages=merged.storages | {next(self.fresh)}))
