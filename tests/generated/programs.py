"""Small but realistic PyTorch programs as source text.

`make_program(rng)` writes one program: `def program(...)` with a loss and its `backward()`, and sometimes local
functions or an nn.Module class. Parameters of `program` called `flag*` are booleans and `n` is a small count, both
unknown to a reader of the text. Everything is (4, 4), (4,), (4, 1) or (), so that programs run; what would raise for
another reason than an overwritten saved tensor (a write of a leaf, of one of several views) is avoided where that is
cheap. Nothing here knows which op saves what: torch says whether a program raises.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from .callables import Callables
from .scope import HEADER, SHAPES, Var, merge


class Maker(Callables):
    """Writes one program, statement by statement, keeping the scope up to date."""

    # -- backward ------------------------------------------------------------------------------------------------

    def loss_text(self, must: list[str]) -> str:
        """A scalar that surely requires grad, over what is at hand."""
        live = [v for v in self.scope.vars.values() if v.shape in SHAPES and not v.spent and v.grad]
        sure = [v for v in live if v.sure]
        chosen = [v for v in live if v.text in must]
        if not sure:
            sure = [self.leaf()]
        if not any(v.sure for v in chosen):
            chosen.append(self.rng.choice(sure[-4:]))
        rest = [v for v in live[-8:] if v not in chosen]
        chosen += self.rng.sample(rest, min(len(rest), self.rng.randint(0, 4)))
        terms = []
        for v in chosen:
            text = self.rng.choice(["{0}.sum()", "{0}.sum()", "{0}.mean()", "{0}.pow(2).sum()", "({0} * {0}).mean()"])
            terms.append(v.text if v.shape == "S" and self.chance(0.5) else text.format(v.text))
        return " + ".join(terms)

    def spend(self) -> None:
        """What a backward without retain_graph leaves: graphs that are gone."""
        for name, v in self.scope.vars.items():
            if v.grad and not (v.leaf and v.sure):
                self.scope.vars[name] = replace(v, spent=True)

    def do_backward(self) -> None:
        """A backward in the middle; what follows starts from the leaves, or keeps the graph."""
        name = self.new_name("loss")
        self.emit(f"{name} = {self.loss_text(self.must_use)}")
        if self.chance(0.2):
            self.do_write()
        if self.chance(0.35):
            self.emit(f"{name}.backward(retain_graph=True)")
        else:
            self.emit(f"{name}.backward()")
            self.spend()
            self.must_use.clear()
            self.scope.functions.clear()
        for _ in range(self.rng.randint(0, 2)):
            self.do_write()

    def do_optimizer(self) -> None:
        """Two losses and a step, in the right or the wrong order."""
        params = [name for name in self.leaves if name in self.scope.vars]
        params = params or [self.leaf().text]
        owner = self.scope.modules and self.chance(0.3) and [m for m in self.scope.modules.values() if m.trains]
        what = f"{owner[0].text}.parameters()" if owner else f"[{', '.join(params[:2])}]"
        opt = self.new_name("opt")
        ctor = self.rng.choice(
            ["torch.optim.SGD({0}, lr=0.1)", "torch.optim.Adam({0})", "torch.optim.SGD({0}, lr=0.1, momentum=0.9)"]
        )
        self.emit(f"{opt} = {ctor.format(what)}")
        first, second = self.new_name("loss"), self.new_name("loss")
        # A step writes only what has a gradient: every parameter takes part in the first loss.
        if owner:
            everything = f"sum(p.sum() for p in {owner[0].text}.parameters())"
        else:
            everything = " + ".join(f"{p}.sum()" for p in params[:2])
        self.emit(f"{first} = {self.loss_text(self.must_use)} + {everything}")
        right = self.chance(0.5)
        if not right:
            self.emit(f"{second} = {self.loss_text(self.must_use)}")
        if self.chance(0.5):
            self.emit(f"{opt}.zero_grad()")
        self.emit(f"{first}.backward({'' if right else 'retain_graph=True'})")
        if right:
            self.spend()
            self.must_use.clear()
            self.scope.functions.clear()
        self.emit(f"{opt}.step()")
        if right:
            for _ in range(self.rng.randint(0, 2)):
                self.do_assign()
            self.emit(f"{second} = {self.loss_text([])}")
        self.emit(f"{second}.backward()")
        self.spend()
        self.must_use.clear()

    def training_loop(self) -> None:
        """A whole program: fresh graphs each step, or a carried state."""
        self.emit("torch.manual_seed(0)")
        lin = self.module()
        while not (lin.trains and "M" in lin.shapes and not lin.writes):
            self.lines.pop()
            del self.scope.modules[lin.text]
            lin = self.module()
        self.emit("opt = torch.optim.{}({}.parameters(), lr=0.1)".format(self.rng.choice(["SGD", "Adam"]), lin.text))
        data = self.data("M")
        carried = self.chance(0.4)
        state = self.new_name("state")
        self.emit(f"{state} = torch.zeros(4, 4)")
        retain = carried and self.chance(0.5)
        before = self.scope.copy()
        self.loops += 1
        with self.block(f"for step in {self.rng.choice(['range(3)', 'range(2)'])}:"):
            if carried:
                self.emit(f"{state} = torch.tanh({lin.text}({data.text}) + {state})")
                if not retain:
                    self.emit(f"{state} = {state}.detach()")
                self.put(Var(state, "M", retain, False, storages=frozenset([next(self.fresh)])))
                base = state
            else:
                base = data.text
            h = self.new_name("h")
            self.emit(f"{h} = {lin.text}({base})")
            self.scope.vars = {h: Var(h, "M", True, True, storages=frozenset([next(self.fresh)]))}
            self.loops -= 1
            self.body(self.rng.randint(1, 4))
            self.loops += 1
            self.emit(f"loss = {self.loss_text([])}")
            order = self.rng.choice(["zero", "none"])
            if order == "zero":
                self.emit("opt.zero_grad()")
            self.emit(f"loss.backward({'retain_graph=True' if retain else ''})")
            self.emit("opt.step()")
        self.loops -= 1
        self.scope = before

    def do_gradients(self) -> None:
        """Updates by hand after a backward: parameters by their gradients."""
        params = [name for name in self.leaves if name in self.scope.vars] or [self.leaf().text]
        name = self.rng.choice(params)
        loss = self.new_name("loss")
        self.emit(f"{loss} = {self.loss_text(self.must_use)} + {name}.sum()")
        later = self.chance(0.3)
        if later:
            other = self.new_name("loss")
            self.emit(f"{other} = {self.loss_text(self.must_use)}")
        self.emit(f"{loss}.backward({'retain_graph=True' if later else ''})")
        if not later:
            self.spend()
            self.must_use.clear()
            self.scope.functions.clear()
        update = self.rng.choice(["{0} -= 0.1 * {0}.grad", "{0}.sub_({0}.grad)", "{0}.add_(-0.1 * {0}.grad)"])
        if self.chance(0.3):
            self.emit(f"{name}.data -= 0.1 * {name}.grad")
        else:
            with self.block("with torch.no_grad():"):
                self.emit(update.format(name))
        self.emit(self.rng.choice(["{0}.grad.zero_()", "{0}.grad = None", "{0}.grad *= 0.5"]).format(name))
        if later:
            self.emit(f"{other}.backward()")
            self.spend()
            self.must_use.clear()
            self.scope.functions.clear()

    def adversarial_loop(self) -> None:
        """Two networks with an optimizer each, one loss built before or after the other's step."""
        nets = ["nn.Linear(4, 4)", "nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))"]
        ctor = self.rng.choice(["torch.optim.SGD({0}.parameters(), lr=0.1)", "torch.optim.Adam({0}.parameters())"])
        for net, opt in (("gen", "opt_g"), ("disc", "opt_d")):
            self.emit(f"{net} = {self.rng.choice(nets)}")
            self.emit(f"{opt} = {ctor.format(net)}")
        noise, real = self.data("M"), self.data("M")
        loss_g = self.rng.choice(["loss_g = -disc(fake).mean()", "loss_g = F.softplus(-disc(fake)).mean()"])
        early = self.chance(0.5)
        given = self.rng.choice(["fake.detach()", "fake.detach()", "fake.clone().detach()", "gen(noise).detach()"])
        with self.block("for _ in range(2):"):
            self.emit(f"fake = gen({noise.text})")
            if early:
                self.emit(loss_g)
            self.emit(f"loss_d = disc({given.replace('noise', noise.text)}).mean() - disc({real.text}).mean()")
            self.emit("opt_d.zero_grad()")
            self.emit("loss_d.backward()")
            if self.chance(0.8):
                self.emit("opt_d.step()")
            if not early:
                self.emit(loss_g)
            self.emit("opt_g.zero_grad()")
            self.emit("loss_g.backward()")
            self.emit("opt_g.step()")

    # -- the whole -----------------------------------------------------------------------------------------------

    def program(self) -> str:
        if self.chance(0.05):
            self.training_loop() if self.chance(0.8) else self.adversarial_loop()
            return self.text()
        for _ in range(self.rng.randint(1, 2)):
            self.leaf()
        if self.chance(0.5):
            self.data()
        if self.chance(0.15):
            self.sized_list()
        moves: list[tuple[float, Callable[[], None]]] = [
            (9, self.do_assign),
            (7, self.do_write),
            (2, self.do_view),
            (2, self.do_alias),
            (1.5, self.do_module),
            (1, self.do_group),
            (1, self.do_group_use),
            (1.3, self.do_if),
            (1.6, self.do_for),
            (0.7, self.do_no_grad),
            (0.6, self.do_number),
            (0.2, self.do_python_noise),
            (0.8, self.do_function),
            (0.3, self.do_call),
            (0.2, self.do_closure),
            (0.6, self.do_class),
            (0.4, self.do_leaf),
            (0.4, self.do_odd_assign),
            (0.4, self.do_layer),
            (0.2, self.do_try),
            (0.2, self.do_match),
            (0.3, self.do_backward),
            (0.2, self.do_optimizer),
            (0.1, self.do_gradients),
            (2.0, self.do_idiom),
        ]
        wanted = self.rng.randint(4, 18)
        guard = 0
        while self.count < wanted and guard < 60:
            self.move(moves)
            guard += 1
        loss = self.new_name("loss")
        self.emit(f"{loss} = {self.loss_text(self.must_use)}")
        for _ in range(self.rng.choice([0, 0, 0, 1, 2])):
            self.do_write()
        self.emit(f"{loss}.backward()" if self.chance(0.9) else f"torch.autograd.backward({loss})")
        for _ in range(self.rng.choice([0, 0, 1])):
            self.do_write()
        if self.chance(0.3):
            self.emit(f"return {loss}.item()")
        return self.text()

    def sized_list(self) -> None:
        """A list as long as the caller says, and a branch on its length."""
        base = self.operand("M")
        name = self.new_name("parts")
        self.emit(f"{name} = [{base.text} * float(k + 1) for k in range({self.count_param()})]")
        h = self.assign(self.new_name(), self.derived(f"torch.stack({name}).sum(0)", "M", [base]))
        before = self.scope.copy()
        with self.block(f"if len({name}) > 2:"):
            if self.can_write(h):
                self.do_write(h)
            self.body(1)
        self.scope = merge(self.scope, before)

    def text(self) -> str:
        head = f"def program({', '.join(self.params)}):"
        return "\n".join([HEADER, "", *self.top, head, *self.lines, ""])


def make_program(rng: random.Random, wild: float = 0.0) -> str:
    """The source of one program; `wild` is how often a write that torch refuses is let through."""
    return Maker(rng, wild).program()


def programs() -> st.SearchStrategy[str]:
    """Programs as a hypothesis strategy: every choice is a draw, so failures shrink."""
    return st.randoms(use_true_random=False).map(make_program)
