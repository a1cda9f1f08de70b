"""Statements: the order in which the program runs, its branches, loops and calls. Names no operator of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import libcst as cst

from . import calls, classes, containers, custom, kept, slices, stale, tensors
from .calls import GradMode, Packing
from .classes import NAMED_TUPLE
from .domain import (
    ITEMS,
    NONE,
    Array,
    Attributes,
    Cell,
    CellState,
    Choice,
    Condition,
    Const,
    Dict,
    Exit,
    Grad,
    Guard,
    Items,
    List,
    Object,
    Ref,
    State,
    Tensor,
    Tuple,
    Unknown,
    Value,
    choose,
)
from .machine import (
    DEPTH,
    ENTRY_STEPS,
    Bound,
    Class,
    Exhausted,
    Frame,
    Function,
    Loop,
    Machine,
    Managed,
    Partial,
    Site,
    Start,
    constant,
)
from .scan import Piece, Scan, wraps
from .transfer import (
    AUGMENTED,
    arguments,
    both,
    condition,
    evaluate,
    index_of,
    quietly,
    site_of,
    subscript,
)
from .tree import expression, parts

RECURSIONS = 3
"""Most times that a function is read inside itself; once, after it was read so ``RECURSIVE`` times in an entry."""
RECURSIVE = 32
EXITS = 64
"""Most ``return`` statements of one call that count."""
ROUNDS = 4
"""Most rounds of a loop whose length is not known."""


# -- blocks


def block(m: Machine, body: Sequence[cst.CSTNode], frame: Frame) -> bool:
    """Run statements in order; False when control does not reach the end."""
    for index, node in enumerate(body):
        if not statement(m, node, frame):
            if type(node) is cst.If:
                for rest in body[index + 1 :]:
                    skip(m, node.test, rest)
            return False
    return True


def statement(m: Machine, node: cst.CSTNode, frame: Frame) -> bool:
    m.steps += 1
    m.entry_steps += 1
    if m.steps % 16 == 0:
        m.go_on()
    handler = _STATEMENTS.get(type(node))
    if type(node) in _LINES:
        frame.line = node
    return handler(m, node, frame) if handler is not None else True


_LINES = frozenset({cst.Expr, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return})


def suite(m: Machine, body: cst.BaseSuite, frame: Frame) -> bool:
    return block(m, body.body, frame)


def _simple_line(m: Machine, node: cst.SimpleStatementLine, frame: Frame) -> bool:
    return block(m, node.body, frame)


def _expression(m: Machine, node: cst.Expr, frame: Frame) -> bool:
    value = evaluate(m, node.value, frame)
    if isinstance(value, Unknown) and value.node is not None and isinstance(node.value, cst.Call):
        m.state.set(m.state.modes, "backward", True)
        m.release_nodes(value.node.parents)  # code not shown here may have run the backward: accelerator.backward(loss)
    return True


# -- binding


def bind(m: Machine, target: cst.BaseExpression, value: Value, frame: Frame) -> None:
    """``target = value`` for every kind of target."""
    if type(target) is cst.Name:
        scope = frame
        if target.value in frame.outer:
            while scope.parent is not None and (scope is frame or target.value not in scope.vars):
                scope = scope.parent
        if m.events and scope.vars.get(target.value) is value:
            stale.rebound(m, value, scope.times.get(target.value, scope.born))
        if m.overtaken:
            m.state.set(m.overtaken, (scope, target.value), None)
        m.state.set(scope.vars, target.value, value)
        m.state.set(scope.times, target.value, m.tick())
    elif type(target) is cst.Tuple or type(target) is cst.List:
        stars = [i for i, e in enumerate(target.elements) if type(e) is cst.StarredElement]
        values = containers.unpack(m, value, len(target.elements), stars[0] if stars else None)
        for element, item in zip(target.elements, values, strict=False):
            bind(m, element.value, item, frame)
    elif isinstance(target, cst.Attribute):
        owner = m.see(evaluate(m, target.value, frame))
        set_attribute(m, owner, target.attr.value, value, Site(frame.piece, target.attr, target))
    elif isinstance(target, cst.Subscript):
        owner = quietly(m, target.value, frame)
        index = index_of(m, target, owner, frame)
        set_item(m, owner, index, value, Site(frame.piece, target.lbracket, target))
    elif isinstance(target, cst.StarredElement):
        bind(m, target.value, value, frame)


def set_attribute(m: Machine, owner: Value, name: str, value: Value, site: Site) -> None:
    if isinstance(owner, Object):
        classes.set_attribute(m, owner, name, value, site)
    elif isinstance(owner, Tensor) and name == "requires_grad":
        test = condition(m, value)
        tensors.require_grad(m, owner, test is not False)
    elif isinstance(owner, Tensor) and name == "data":
        kept.replaced(m, owner, m.see(value))
    elif isinstance(owner, Class):
        m.state.set(owner.members, name, value)
    elif isinstance(owner, Unknown) and not owner.scalar:
        m.state.set(m.state.store, (owner, name), value)
    elif isinstance(owner, Choice):
        split(m, owner, lambda option: set_attribute(m, option, name, value, site))


def set_item(m: Machine, owner: Value, index: Value, value: Value, site: Site, form: str = "subscript") -> None:
    owner = m.see(owner)
    if isinstance(owner, Tensor):
        tensors.assign_subscript(m, owner, index, value, site, form)
    elif isinstance(owner, Array):
        m.write(owner.storage, "numpy", site)
        stale.shown(m, owner, site)
    elif isinstance(owner, Choice):
        split(m, owner, lambda option: set_item(m, option, index, value, site, form))
    elif isinstance(owner, Object):
        contents = m.state.get(owner).items
        found = classes.member(owner.cls, "__setitem__")
        if isinstance(found, Function):
            m.run(found, [owner, index, value], {}, site)
        elif ITEMS in contents:
            set_item(m, contents[ITEMS], index, value, site, form)
    elif isinstance(owner, Unknown) and (shared := tensors.made_of(m, owner)):
        m.write(shared.storage, "numpy", site)
    elif isinstance(owner, Unknown):
        key = containers.key_of(m.see(index))
        if key is not None:
            m.state.set(m.state.store, (owner, "[]", key), value)
    else:
        containers.set_item(m, owner, index, value)


def split(m: Machine, value: Value, then: Callable[[Value], None]) -> None:
    """Do something under each option of a value."""

    def act(options: list[Value]) -> Value:
        then(options[0])
        return NONE

    m.split([value], act)


def _assign(m: Machine, node: cst.Assign, frame: Frame) -> bool:
    value = evaluate(m, node.value, frame)
    for target in node.targets:
        _shift(m, target.target, node.value, frame)
        _swap(m, target.target, node.value, value, frame)
        slices.turn(m, target.target, node.value, frame)
        bind(m, target.target, value, frame)
        slices.remember(m, target.target, node.value, frame)
    return True


def _shift(m: Machine, target: cst.BaseExpression, source: cst.BaseExpression, frame: Frame) -> None:
    if type(target) is not cst.Subscript:
        return
    site = Site(frame.piece, target.lbracket, target)
    if type(source) is cst.Subscript:
        slices.shift(m, target, source, m.see(quietly(m, target.value, frame)), site)
    elif slices.transposes(source, target):
        part = m.see(quietly(m, target, frame))
        if isinstance(part, Tensor) and part.view == "view":  # no copy, as an index that is a mask would make
            m.refuse("overlap", site)


def _spread(m: Machine, node: cst.AugAssign, frame: Frame) -> None:
    new = type(node.operator) is cst.MatrixMultiplyAssign  # which makes a tensor, and binds the name to it
    if type(node.value) is cst.Subscript and type(node.target) is not cst.Subscript and not new:
        base = m.see(quietly(m, node.target, frame))
        slices.spread(m, node.target, node.value, base, Site(frame.piece, node.operator, node))


def _swap(m: Machine, target: cst.BaseExpression, source: cst.BaseExpression, value: Value, frame: Frame) -> None:
    if type(target) is cst.Tuple and type(source) is cst.Tuple and isinstance(value, Tuple):
        left, right = ([element.value for element in side.elements] for side in (target, source))
        owners = [m.see(quietly(m, one.value, frame)) for one in left if type(one) is cst.Subscript]
        if len(owners) == len(left) and all(isinstance(owner, Tensor) for owner in owners):
            slices.swap(m, left, right, value, Site(frame.piece, target, target))


def _annotated(m: Machine, node: cst.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        value = evaluate(m, node.value, frame)
        if annotation(node.annotation) in ("tensor", "parameter"):
            value = m.promote(value)
        bind(m, node.target, value, frame)
    return True


def _augmented(m: Machine, node: cst.AugAssign, frame: Frame) -> bool:
    name = AUGMENTED[type(node.operator)]
    site = Site(frame.piece, node.operator, node)
    target = node.target
    _spread(m, node, frame)
    if isinstance(target, cst.Subscript):
        owner = quietly(m, target.value, frame)
        index = index_of(m, target, owner, frame)
        value = evaluate(m, node.value, frame)
        _shift(m, target, node.value, frame)

        def act(options: list[Value]) -> Value:
            container = options[0]
            if isinstance(container, Unknown) and container.likely:
                container = m.see(container)
            old = m.see(subscript(m, container, index, Site(frame.piece, target.lbracket, target)))
            new = containers.augment(m, name, old, value, site)
            if isinstance(container, Tensor):
                if tensors.is_advanced(m, index):
                    tensors.assign_subscript(m, container, index, new, site, "augmented")
            elif new is not old and not isinstance(container, Array):
                set_item(m, container, index, new, site)
            return NONE

        m.split([owner], act)
        return True
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return True
    old = evaluate(m, target, frame)
    value = evaluate(m, node.value, frame)
    new = containers.augment(m, name, old, value, site)
    if new is not old:
        bind(m, target, new, frame)
    return True


def _delete(m: Machine, node: cst.Del, frame: Frame) -> bool:
    targets = node.target.elements if isinstance(node.target, cst.Tuple) else ()
    for target in (element.value for element in targets):
        if isinstance(target, cst.Subscript):
            owner = quietly(m, target.value, frame)
            _remove(m, owner, index_of(m, target, owner, frame))
    return True


def _remove(m: Machine, owner: Value, index: Value) -> None:
    split(m, owner, lambda option: containers.remove(m, option, index))


# -- control flow


def _if(m: Machine, node: cst.If, frame: Frame) -> bool:
    test = condition(m, evaluate(m, node.test, frame))
    arms: list[tuple[Guard | None, Callable[[], bool]]] = []

    def other() -> bool:
        if type(node.orelse) is cst.If:
            return statement(m, node.orelse, frame)
        return suite(m, node.orelse.body, frame) if node.orelse is not None else True

    if isinstance(test, bool):
        skip(m, node.test, node.orelse if test else node.body)
        return suite(m, node.body, frame) if test else other()
    arms = [(test.true, lambda: suite(m, node.body, frame)), (test.false, other)]
    overtaken = _overtaken(m, node.body, frame) if m.updates and node.orelse is None else {}
    alive = fork(m, arms)
    for name, update in overtaken.items():
        m.state.set(m.overtaken, name, update)
    return alive


def _overtaken(m: Machine, body: cst.BaseSuite, frame: Frame) -> dict[tuple[Frame | Object, str], Site]:
    """``best = model``, under a condition, where ``best`` is ``model`` already, which was trained since: where it was.

    Nothing was kept, and nothing is.
    """
    found = {}
    for line in body.body:
        node = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
        if not isinstance(node, cst.Assign) or not isinstance(node.value, (cst.Name, cst.Attribute)):
            continue
        module = m.see(quietly(m, node.value, frame))
        if module in m.modules or (isinstance(module, Object) and classes.is_module(module.cls)):
            owner, name, before, time = _kept(m, node.targets[0].target, frame)
            update = kept.update_since(m, time)
            options = [option for _, option in before.options] if isinstance(before, Choice) else [before]
            if update is not None and module in options:
                found[owner, name] = update
    return found


def _kept(m: Machine, target: cst.BaseExpression, frame: Frame) -> tuple[Frame | Object, str, Value, int]:
    """What a variable, or an attribute of an instance, stands for: whose it is, its name, the value, since when."""
    if isinstance(target, cst.Name):
        return frame, target.value, frame.vars.get(target.value, NONE), frame.times.get(target.value, frame.born)
    owner = m.see(quietly(m, target.value, frame)) if isinstance(target, cst.Attribute) else NONE
    if isinstance(target, cst.Attribute) and isinstance(owner, Object):
        name = target.attr.value
        return owner, name, m.state.get(owner).items.get(name, NONE), m.stored.get((owner, name), m.clock)
    return frame, "", NONE, m.clock


def skip(m: Machine, why: cst.CSTNode, arm: cst.CSTNode | None) -> None:
    """An arm is not read. Where that hangs on an attribute, which others may set, they may come to what it calls."""
    if arm is None or arm in m.skipped:
        return
    m.skipped.add(arm)
    if _asks_attribute(why):
        m.asked.update(name for name in stale.mentioned(arm) if name.startswith("_"))


def _asks_attribute(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Attribute) and node.attr.value != "training":
        return True
    return any(_asks_attribute(child) for child in parts(node))


def fork(m: Machine, arms: list[tuple[Guard | None, Callable[[], bool]]]) -> bool:
    """Run alternatives from the same state and go on from those that come through."""
    mark, exits = m.state.mark(), list[Exit]()
    for guard, arm in arms:
        if guard is not None and not m.state.possible(guard):
            continue
        m.state.assume(guard or frozenset())
        if arm():
            if not exits and arm is arms[-1][1]:
                return True
            exits.append(Exit(guard or frozenset(), m.state.changes(mark)))
        m.state.rollback(mark)
    if exits:
        m.state.merge(mark, exits)
    return bool(exits)


def _for(m: Machine, node: cst.For, frame: Frame) -> bool:
    call, numbered = _numbered(node.iter)
    if isinstance(call, cst.Call) and (generator := _generator(m, node, call.func, frame)) is not None:
        function, receiver = generator
        args, kwargs = arguments(m, call, frame)
        return _interleaved(m, node, function, [*receiver, *args], kwargs, frame, numbered)
    source, begin = m.see(evaluate(m, node.iter, frame)), m.tick()
    if isinstance(source, Object):
        found = classes.member(source.cls, "__iter__")
        if isinstance(found, Function) and _yields(m, node, found):
            return _interleaved(m, node, found, [source], {}, frame)
    items, exact = containers.few(m, *containers.elements(m, source), calls.configures(frame.piece))
    if not items:
        skip(m, node.iter, node.body)

    def binding(item: Value) -> Callable[[], None]:
        return lambda: bind(m, node.target, item, frame)

    frame.elements |= stale.names(node.target)

    def further() -> None:
        bind(m, node.target, containers.another(m, items[-1]), frame)

    alive = loop(m, frame, node.body, [binding(item) for item in items], further, node.orelse, exact)
    stale.outlived(m, source, begin)
    return alive


def _numbered(node: cst.BaseExpression) -> tuple[cst.BaseExpression, bool]:
    """What a loop goes over, and whether it numbers it: the ``x`` of ``enumerate(x)``."""
    if not isinstance(node, cst.Call) or not node.args or node.args[0].star:
        return node, False
    numbers = isinstance(node.func, cst.Name) and node.func.value == "enumerate"
    return (node.args[0].value, True) if numbers else (node, False)


def _generator(
    m: Machine, node: cst.For, func: cst.BaseExpression, frame: Frame
) -> tuple[Function, list[Value]] | None:
    """The generator of the file that a loop calls, and its receiver."""
    if not isinstance(func.value if isinstance(func, cst.Attribute) else func, cst.Name):
        return None
    callee = m.see(evaluate(m, func, frame))
    if isinstance(callee, Bound):
        function, receiver = callee.function, [callee.receiver]
    elif isinstance(callee, Function):
        function, receiver = callee, []
    else:
        return None
    return (function, receiver) if _yields(m, node, function) else None


def _yields(m: Machine, node: cst.For, function: Function) -> bool:
    """Whether a function is a generator that a loop over it runs to its end."""
    yields = not function.managed and _has(m.body(function)[0], cst.Yield)
    return yields and not _has(node.body, cst.Break, cst.Return, cst.Yield)


def _has(node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> bool:
    """Whether there are such nodes in a body, but for those of functions in it."""
    if isinstance(node, (cst.FunctionDef, cst.Lambda)):
        return False
    return isinstance(node, kinds) or any(_has(part, *kinds) for part in parts(node))


def _interleaved(
    m: Machine,
    node: cst.For,
    generator: Function,
    args: list[Value],
    kwargs: dict[str, Value],
    frame: Frame,
    numbered: bool = False,
) -> bool:
    """``for x in generator(...)``: the body runs where the generator yields."""
    frame.elements |= stale.names(node.target)
    outside = list(m.frames), list(m.calling), list(m.active)
    items: list[Value] = []

    def resume(yielded: Value) -> None:
        items.append(yielded)
        first = len(items) == 1 and isinstance(node.iter, cst.Call) and len(node.iter.args) == 1
        number = Const(0) if first else Unknown(scalar=True)
        element = Tuple((number, yielded)) if numbered else yielded
        inside = m.frames, m.calling, m.active
        m.frames, m.calling, m.active = outside
        try:
            loop(m, frame, node.body, [lambda: bind(m, node.target, element, frame)], lambda: None, None, exact=True)
        finally:
            m.frames, m.calling, m.active = inside

    run(m, replace(generator, resume=resume), args, kwargs, site_of(node.iter, frame))
    if not items:  # it was not read, or has not come to a yield
        loop(m, frame, node.body, [lambda: bind(m, node.target, Unknown(), frame)], lambda: None, None, exact=True)
    return suite(m, node.orelse.body, frame) if node.orelse is not None else True


def _while(m: Machine, node: cst.While, frame: Frame) -> bool:
    test = condition(m, evaluate(m, node.test, frame))
    if test is False:
        return suite(m, node.orelse.body, frame) if node.orelse is not None else True

    def again() -> None:
        evaluate(m, node.test, frame)

    return loop(m, frame, node.body, [lambda: None, again], again, node.orelse, endless=test is True)


def loop(
    m: Machine,
    frame: Frame,
    body: cst.BaseSuite,
    rounds: list[Callable[[], None]],
    further: Callable[[], None],
    orelse: cst.Else | None,
    exact: bool = False,
    endless: bool = False,
) -> bool:
    """Run a body round after round; what one round saved the next one sees.

    Where the number of rounds is not known, two more follow each that makes a tensor require grad that did not before:
    one that saves with it, and one that overwrites what was saved. So they do where the state of a module was taken.
    """
    state = m.state
    this = Loop(state.mark())
    frame.loops.append(this)
    alive, grown = True, -ROUNDS
    for number, start in enumerate(rounds):
        mark, taken = state.mark(), len(m.snapshots)
        start()
        this.continues = []
        through = suite(m, body, frame)
        exits = list(this.continues)
        if exits:
            if through:
                exits.append(Exit(frozenset(), state.changes(mark)))
            state.merge(mark, exits)
        elif not through:
            alive = False
            break
        grown = number if not exact and (grew(m, mark) or len(m.snapshots) > taken) else grown
        if number == len(rounds) - 1 < ROUNDS - 1 and number < grown + 2:
            rounds.append(further)
    frame.loops.pop()
    if alive and orelse is not None:
        alive = suite(m, orelse.body, frame)
    ends = list(this.breaks)
    if not ends:
        return alive
    if alive and not endless:
        ends.append(Exit(frozenset(), state.changes(this.mark)))
    state.merge(this.mark, ends)
    return True


def grew(m: Machine, mark: int) -> bool:
    """Whether a tensor, or what a variable stands for, has begun to require grad since ``mark``."""
    state = m.state
    for where, key, old in state.journal[mark:]:
        if isinstance(key, Cell) and where is state.store:
            before = old if isinstance(old, CellState) else key.initial
            if not before.grad and state.get(key).grad:
                return True
        elif isinstance(old, Tensor) and key in where and not m.grad(old) and tensors.reach(m, where[key]):
            return True
    return False


def _break(m: Machine, node: cst.Break, frame: Frame) -> bool:
    if frame.loops:
        this = frame.loops[-1]
        this.breaks.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    return False


def _continue(m: Machine, node: cst.Continue, frame: Frame) -> bool:
    if frame.loops:
        this = frame.loops[-1]
        this.continues.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    return False


def _return(m: Machine, node: cst.Return, frame: Frame) -> bool:
    value = evaluate(m, node.value, frame) if node.value is not None else NONE
    if node is frame.last:
        frame.exits.append(Exit(m.state.guard(), {}, value))
        frame.ended = True
    elif len(frame.exits) < EXITS:
        frame.exits.append(Exit(m.state.guard(), m.state.changes(frame.mark), value))
    return False


def _raise(m: Machine, node: cst.Raise, frame: Frame) -> bool:
    if frame.tries:
        this = frame.tries[-1]
        this.breaks.append(Exit(m.state.guard(), m.state.changes(this.mark)))
    return False


def _assert(m: Machine, node: cst.Assert, frame: Frame) -> bool:
    test = condition(m, evaluate(m, node.test, frame))
    if not isinstance(test, bool):
        m.state.assume(test.true)
    return True


def _try(m: Machine, node: cst.Try | cst.TryStar, frame: Frame) -> bool:
    """The body, and each handler from where the body began or raised."""
    state, failed = m.state, Unknown(scalar=True)
    this = Loop(state.mark())
    frame.tries.append(this)
    alive = suite(m, node.body, frame)
    frame.tries.pop()
    if alive and node.orelse is not None:
        alive = suite(m, node.orelse.body, frame)
    exits = [Exit(frozenset({(failed, False)}), state.changes(this.mark))] if alive else []
    for handler in node.handlers:
        state.merge(this.mark, [*this.breaks, Exit(frozenset(), {})])
        state.assume(frozenset({(failed, True)}))
        if handler.name is not None:
            bind(m, handler.name.name, Unknown(scalar=True), frame)
        if suite(m, handler.body, frame):
            exits.append(Exit(frozenset({(failed, True)}), state.changes(this.mark)))
    if exits and node.handlers:
        state.merge(this.mark, exits)
    if node.finalbody is not None:
        return suite(m, node.finalbody.body, frame) and bool(exits)
    return bool(exits)


def _with(m: Machine, node: cst.With, frame: Frame) -> bool:
    return _enter(m, list(node.items), node.body, frame)


def _enter(m: Machine, items: list[cst.WithItem], body: cst.BaseSuite, frame: Frame) -> bool:
    """Enter context managers one after the other, run the body, leave them."""
    if not items:
        return suite(m, body, frame)
    modes = m.state.modes
    before = {name: modes.get(name) for name in ("grad", "expecting", "inference", "packing")}
    value = m.see(evaluate(m, items[0].item, frame))
    if isinstance(value, Managed):
        return _managed(m, value, items, body, frame)
    m.state.set(modes, "expecting", before["expecting"] or not isinstance(value, (GradMode, Packing)))
    if isinstance(value, GradMode):
        m.state.set(modes, "grad", value.on)
        m.state.set(modes, "inference", value.inference or before["inference"])
    if isinstance(value, Packing):
        m.state.set(modes, "packing", "share" if value.shares else "copy")
    site = site_of(items[0].item, frame)
    entered = classes.special(m, value, "__enter__", [], site)
    if items[0].asname is not None:
        bind(m, items[0].asname.name, value if entered is None else entered, frame)
    alive = _enter(m, items[1:], body, frame)
    if alive:
        classes.special(m, value, "__exit__", [NONE, NONE, NONE], site)
    for name, was in before.items():
        m.state.set(modes, name, True if name == "grad" and was is None else was)
    return alive


def _managed(m: Machine, value: Managed, items: list[cst.WithItem], body: cst.BaseSuite, frame: Frame) -> bool:
    """A generator under ``contextlib.contextmanager``: the body runs where it yields."""
    outside = list(m.frames), list(m.calling), list(m.active)
    came: list[bool] = []

    def resume(yielded: Value) -> None:
        if came:
            return
        inside = m.frames, m.calling, m.active
        m.frames, m.calling, m.active = outside
        if items[0].asname is not None:
            bind(m, items[0].asname.name, yielded, frame)
        came.append(_enter(m, items[1:], body, frame))
        m.frames, m.calling, m.active = inside

    run(m, replace(value.function, managed=False, resume=resume), value.args, value.kwargs, value.site)
    return came[0] if came else _enter(m, items[1:], body, frame)


def _match(m: Machine, node: cst.Match, frame: Frame) -> bool:
    subject = m.see(evaluate(m, node.subject, frame))
    arms: list[tuple[Guard | None, Callable[[], bool]]] = []
    before: Guard = frozenset()
    for case in node.cases:
        test = _matches(m, subject, case, frame)
        if test is False:
            continue
        taken = Condition(before, frozenset()) if test is True else test
        arms.append((before | taken.true, _arm(m, case, frame)))
        if test is True:
            return fork(m, arms)
        before |= taken.false
    return fork(m, [*arms, (before, lambda: True)])


def _matches(m: Machine, subject: Value, case: cst.MatchCase, frame: Frame) -> bool | Condition:
    """Whether a case is taken. What asks for a name that its pattern binds is a test of its own."""
    test = _fits(m, subject, case.pattern, frame)
    if case.guard is None or test is False:
        return test
    bound = bool(_captures(case.pattern))
    guard = condition(m, Unknown(scalar=True) if bound else evaluate(m, case.guard, frame))
    if isinstance(test, bool) or isinstance(guard, bool):
        return guard if test is True else test if guard is True else False
    return both(m, "and", test, guard)


def _fits(m: Machine, subject: Value, pattern: cst.MatchPattern, frame: Frame) -> bool | Condition:
    """Whether a pattern fits: known for names and constants, a test of its own for every other one."""
    if isinstance(pattern, cst.MatchAs) and pattern.pattern is None:
        return True
    if isinstance(pattern, cst.MatchSingleton) and pattern.value.value in ("True", "False"):
        test = condition(m, subject)
        if isinstance(test, bool):
            return test is (pattern.value.value == "True")
        return test if pattern.value.value == "True" else Condition(test.false, test.true)
    if isinstance(pattern, cst.MatchValue):
        site = Site(frame.piece, pattern, pattern)
        return condition(m, containers.operator(m, "eq", subject, evaluate(m, pattern.value, frame), site))
    return condition(m, Unknown(scalar=True))


def _arm(m: Machine, case: cst.MatchCase, frame: Frame) -> Callable[[], bool]:
    def run() -> bool:
        for name in _captures(case.pattern):
            bind(m, name, Unknown(), frame)
        return suite(m, case.body, frame)

    return run


def _captures(node: cst.CSTNode) -> list[cst.Name]:
    found = [node.name] if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None else []
    for child in parts(node):
        if isinstance(
            child, (cst.MatchPattern, cst.MatchKeywordElement, cst.MatchMappingElement, cst.BaseElement)
        ) or type(child).__name__.startswith("Match"):
            found += _captures(child)
    return found


# -- definitions


def _function(m: Machine, node: cst.FunctionDef, frame: Frame) -> bool:
    m.state.set(frame.vars, node.name.value, _decorated(m, node, make_function(m, node, frame, None), frame))
    return True


def _decorated(m: Machine, node: cst.FunctionDef, function: Function, frame: Frame) -> Function:
    """A function after the decorators of this file: they may wrap it, or put it into a table of the module."""
    made = _decorate(m, node, function, frame)
    known = isinstance(made, (Function, Bound, Partial)) or (isinstance(made, Object) and isinstance(made.cls, Class))
    return replace(function, wrapped=made) if known and made is not function else function


def _decorate(m: Machine, node: cst.FunctionDef | cst.ClassDef, made: Value, frame: Frame) -> Value:
    for decorator in reversed(node.decorators):
        inner = decorator.decorator
        callee = m.see(evaluate(m, inner.func if isinstance(inner, cst.Call) else inner, frame))
        if not isinstance(callee, (Function, Bound, Class)):
            continue
        wrapper = m.see(evaluate(m, inner, frame)) if isinstance(inner, cst.Call) else callee
        if isinstance(wrapper, (Function, Bound, Class)):
            made = m.see(calls.call(m, wrapper, [made], {}, Site(frame.piece, decorator, decorator)))
    return made


def make_function(m: Machine, node: cst.FunctionDef, frame: Frame, owner: Class | None) -> Function:
    kind, grad, inference, compiled, managed = "", None, False, False, False
    for decorator in node.decorators:
        inner = decorator.decorator
        inner = inner.func if isinstance(inner, cst.Call) else inner
        name = (
            inner.value if isinstance(inner, cst.Name) else inner.attr.value if isinstance(inner, cst.Attribute) else ""
        )
        if name in ("staticmethod", "classmethod"):
            kind = name[:-6]
        elif name in ("property", "cached_property", "lazyproperty", "setter"):
            kind = name if name in ("property", "setter") else "cached"
        elif name in ("register_kernel", "register_fake"):  # of torch.library, or of an operator: below autograd
            grad = False
        value = evaluate(m, inner, frame) if isinstance(inner, (cst.Name, cst.Attribute)) and kind != "setter" else NONE
        if isinstance(value, Ref):
            managed = managed or value.name == "contextlib.contextmanager"
            compiled = compiled or value.name in ("torch.compile", "torch.jit.script")
            mode = calls.grad_mode_of(value.name)
            grad = mode if mode is not None else grad
            inference = inference or value.name == "torch.inference_mode"
    defaults: dict[str, Value] = {}
    for param in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
        if param.default is not None:
            defaults[param.name.value] = evaluate(m, param.default, frame)
    text = frame.piece.tree.heads.get(node)
    given = (*node.params.posonly_params, *node.params.params)
    said_tensors = tuple(param.name.value for param in given if annotation(param.annotation) in _TENSORS)
    m.scopes.append(frame)
    return Function(
        node.name.value,
        node,
        frame.piece,
        frame,
        text,
        owner,
        kind,
        grad,
        defaults,
        inference,
        compiled,
        managed,
        said_tensors,
    )


def _class(m: Machine, node: cst.ClassDef, frame: Frame) -> bool:
    bases = tuple(m.see(evaluate(m, arg.value, frame)) for arg in node.bases)
    generated = (
        bool(node.decorators) or NAMED_TUPLE in bases or any(isinstance(b, Class) and b.generated for b in bases)
    )
    cls = Class(node.name.value, node, frame.piece, bases, {}, _fields(node), generated)
    body = Frame(cls.members, frame.piece, frame, owner=cls)
    for part in node.body.body:
        if isinstance(part, cst.FunctionDef):
            function = _decorated(m, part, make_function(m, part, frame, cls), body)
            name = f"{function.name}.setter" if function.kind == "setter" else function.name
            cls.members[name] = function
        else:
            statement(m, part, body)
    m.state.set(frame.vars, node.name.value, cls)
    if frame.piece.registers and frame.parent is None:
        _decorate(m, node, cls, frame)
    return True


def _fields(node: cst.ClassDef) -> tuple[str, ...]:
    lines = [part for part in node.body.body if isinstance(part, cst.SimpleStatementLine)]
    parts = [part.target for line in lines for part in line.body if isinstance(part, cst.AnnAssign)]
    return tuple(target.value for target in parts if isinstance(target, cst.Name))


def _import(m: Machine, node: cst.Import, frame: Frame) -> bool:
    for alias in node.names:
        full = dotted(alias.name)
        if alias.asname is not None:
            bind(m, alias.asname.name, Ref(full), frame)
        else:
            top = full.partition(".")[0]
            m.state.set(frame.vars, top, Ref(top))
    return True


def _import_from(m: Machine, node: cst.ImportFrom, frame: Frame) -> bool:
    if isinstance(node.names, cst.ImportStar):
        return True
    module = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
    for alias in node.names:
        full = f"{module}.{dotted(alias.name)}"
        name = alias.asname.name if alias.asname is not None else alias.name
        bind(m, name, Ref(full), frame)
    return True


def dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _outer(m: Machine, node: cst.Global | cst.Nonlocal, frame: Frame) -> bool:
    frame.outer |= {item.name.value for item in node.names}
    return True


_STATEMENTS: dict[type, Callable[[Machine, Any, Frame], bool]] = {
    cst.SimpleStatementLine: _simple_line,
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Del: _delete,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Match: _match,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.Global: _outer,
    cst.Nonlocal: _outer,
}


# -- calling functions of the file


def run(m: Machine, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call a function of the file: its body is read with these arguments."""
    if function.managed:
        return Managed(function, args, kwargs, site)
    if function.wrapped is not None:
        before = m.ran.get(function.node)
        result = calls.call(m, function.wrapped, args, kwargs, site)
        if m.ran.get(function.node) != before:
            return result
    m.ran[function.node] = m.clock
    busy = sum(1 for active in m.active if active.node is function.node)
    m.recursive += busy > 0
    if busy > (RECURSIONS if m.recursive <= RECURSIVE else 1) or len(m.active) >= DEPTH or m.entry_steps > ENTRY_STEPS:
        return tensors.unknown_call(m, *args, *kwargs.values(), grad=Grad.NO)
    state, (body, piece) = m.state, m.body(function)
    frame = Frame({}, piece, function.frame, function.owner, args[0] if function.owner and args else None)
    frame.function, frame.given, frame.born = function, [*args, *kwargs.values()], m.tick()
    complete = parameters(m, function, args, kwargs, frame, entry=site.node is function.node)
    if complete or function.name != "forward":
        m.reached.add(function.node)
        m.spelled |= piece.mentions if function.text is not None else frozenset()
    unused = m.is_statement(site)
    m.active.append(function)
    m.calling.append(site)
    m.frames.append(frame)
    modes, stepping = dict(state.modes), m.stepping
    if stepping is None and site.node is not function.node and classes.optimizes(function.owner):
        m.stepping = site
    if function.grad is not None:
        state.set(state.modes, "grad", function.grad)
        state.set(state.modes, "inference", function.inference or modes.get("inference"))
    try:
        if not isinstance(body, cst.BaseSuite):
            return evaluate(m, body, frame)
        frame.mark = state.mark()
        frame.last = _end(body)
        entry = state.guard()
        if suite(m, body, frame):
            frame.exits.append(Exit(state.guard(), {}, NONE))
            frame.ended = True
        if not frame.exits:
            return Unknown()
        if len(frame.exits) > 1 or not frame.ended:
            if frame.ended:  # the state is that of the last way out
                frame.exits[-1].delta = state.changes(frame.mark)
            for way in frame.exits:
                way.guard = way.guard - entry
            state.merge(frame.mark, frame.exits)
        value = choose([(way.guard, way.value) for way in frame.exits])
        forget(state, frame)
        if stale.says_in_place(function.name) or constant(kwargs.get("inplace", NONE)) is True:
            stale.announced(m, frame.given, frame.born)
        elif not unused:
            stale.handed_back(m, frame.given, value, frame.born)
        else:
            stale.peeked(m, frame.given, frame.born)
        return frame.yields or value
    finally:
        if function.name not in ("__enter__", "__exit__"):  # which may be there to switch it
            state.set(state.modes, "grad", modes.get("grad", True))
            state.set(state.modes, "inference", modes.get("inference"))
        m.stepping = stepping
        frame.exits.clear()
        m.active.pop()
        m.calling.pop()
        m.frames.pop()


def _end(body: cst.BaseSuite) -> cst.CSTNode | None:
    """The simple statement at the end of a body, if there is one."""
    line = body.body[-1] if body.body else None
    return line.body[-1] if isinstance(line, cst.SimpleStatementLine) else None


def forget(state: State, frame: Frame) -> None:
    """The variables of a call that is over need no undoing."""
    journal = state.journal
    kept = [entry for entry in journal[frame.mark :] if entry[0] is not frame.vars and entry[0] is not frame.times]
    journal[frame.mark :] = kept


def parameters(
    m: Machine, function: Function, args: list[Value], kwargs: dict[str, Value], frame: Frame, entry: bool
) -> bool:
    """Bind the parameters of a call; True when every required one got a value that is known.

    An ``entry`` may be given other keywords than those that are known of.
    """
    params = function.node.params
    named = [p.name.value for p in (*params.posonly_params, *params.params)]
    rest = dict(kwargs)
    complete = True
    receiver = args[0] if args and function.name == "forward" else None
    into_module = isinstance(receiver, Object) and classes.is_module(receiver.cls)
    for index, name in enumerate(named):
        if index < len(args):
            value = args[index]
        elif name in rest:
            value = rest.pop(name)
        else:
            value = function.defaults.get(name, Unknown())
        complete = complete and not _blank(m, value)
        if index == 1 and into_module and _is_input(m, function, value):
            value = m.promote(value)
        guessed = isinstance(value, Tensor) and name in joined(m, function)
        frame.vars[name] = Unknown(m.grad(value), likely=True) if guessed else value
    for param in params.kwonly_params:
        name = param.name.value
        frame.vars[name] = rest.pop(name) if name in rest else function.defaults.get(name, Unknown())
    if type(params.star_arg) is cst.Param:
        frame.vars[params.star_arg.name.value] = Tuple(tuple(args[len(named) :]))
    if params.star_kwarg is not None:
        frame.vars[params.star_kwarg.name.value] = Dict(rest, open=entry)
    for name in function.tensors:
        frame.vars[name] = _given_tensor(m, frame.vars[name])
    return complete


def _given_tensor(m: Machine, value: Value) -> Value:
    """An argument for a parameter that is annotated as a tensor: None is not what is meant."""
    value = m.see(value)
    if not isinstance(value, Choice):
        return m.promote(value)
    options = [option for _, option in value.options if m.see(option) != NONE]
    return m.promote(options[0]) if len(options) == 1 else value


def _is_input(m: Machine, function: Function, value: Value) -> bool:
    """Whether data is given to a ``forward`` as its first argument, of which nothing says that it is no tensor."""
    value = m.see(value)
    param = positional(function.node.params)[1]
    unsaid = param.annotation is None and param.name.value not in {*function.defaults, *joined(m, function)}
    data = isinstance(value, Unknown) and value.grad is Grad.NO and value.node is None and value.default is None
    return unsaid and data


def _blank(m: Machine, value: Value) -> bool:
    value = m.see(value)
    return isinstance(value, Unknown) and not value.scalar and value.default is None


def annotation(node: cst.Annotation | None) -> str:
    """What an annotation says.

    "tensor", "tensors", "maybe" (an optional tensor), "parameter", "data" (a tensor that has no gradient), "scalar",
    "other" (which is no tensor, though it may hold some) or nothing.
    """
    if node is None:
        return ""
    return _annotated_as(node.annotation)


def _annotated_as(node: cst.BaseExpression) -> str:
    if type(node) is cst.SimpleString:
        try:
            node = expression(str(node.evaluated_value))
        except (SyntaxError, ValueError):
            return ""
    if type(node) is cst.Attribute:
        name = node.attr.value
    elif type(node) is cst.Name:
        name = node.value
    elif type(node) is cst.Subscript:
        outer = dotted(node.value).rpartition(".")[2]
        parts = [_annotated_as(e.slice.value) for e in node.slice if isinstance(e.slice, cst.Index)]
        if not _TENSORS.isdisjoint(parts):
            return _HOLDING.get(outer, "")
        return "scalar" if outer == "Optional" and set(parts) == {"scalar"} else _SAID.get(outer, "")
    elif isinstance(node, cst.BinaryOperation):
        parts = [_annotated_as(node.left), _annotated_as(node.right)]
        return "maybe" if not _TENSORS.isdisjoint(parts) else ""
    else:
        return ""
    vague = len(name) == 1 or name in ("Any", "object") or any(word in name.lower() for word in ("tensor", "array"))
    return _SAID.get(name, "" if vague else "other")


_TENSORS = frozenset({"tensor", "parameter"})
_HOLDING = {"Optional": "maybe", "Float": "tensor", "Int": "data", "Bool": "data"} | {
    kind: said
    for said, kinds in {"tensors": "List list Sequence", "other": "Dict dict Mapping Tuple tuple"}.items()
    for kind in kinds.split()
}
"""What a type says that has a tensor in its brackets: Python's own, and those of jaxtyping."""
_SAID = {
    name: said
    for said, names in {
        "tensor": "Tensor FloatTensor",
        "parameter": "Parameter",
        "data": "LongTensor BoolTensor IntTensor ByteTensor",
        "scalar": "int float bool str ndarray None Path dtype device",
        "other": "Dict dict Mapping List list Sequence Tuple tuple",
    }.items()
    for name in names.split()
}


# -- entries


def entry_argument(m: Machine, function: Function, param: cst.Param, first: bool, forward: bool) -> Value:
    """What a caller outside this file may pass for a parameter."""
    said = annotation(param.annotation)
    default = function.defaults.get(param.name.value)
    if forward and not first and said in ("", "tensor", "maybe") and (default is None or default == NONE):
        return Tensor() if said == "tensor" else Unknown(likely=True)  # labels, masks, ids and states
    if said == "tensor":
        return Tensor(cell=Cell(Grad.MAYBE, leaf=False))
    if said == "parameter":  # its caller may have switched gradients off to write to it
        return Tensor(cell=Cell(Grad.YES, leaf=False))
    if said == "data":
        return Tensor()
    if said == "maybe":
        return Unknown(Grad.MAYBE, likely=True)
    if said == "tensors":
        return List([Tensor(cell=Cell(Grad.MAYBE, leaf=False)) for _ in range(2)], open=True)
    if said == "scalar":
        return Unknown(scalar=True, default=default)
    if default is not None and default != NONE:
        return Unknown(scalar=isinstance(default, Const), default=default)
    if said == "other":
        return Unknown(Grad.MAYBE)
    if forward and first and default is None and param.name.value not in joined(m, function):
        return Tensor(cell=Cell(Grad.MAYBE, leaf=False))
    return Unknown(Grad.MAYBE, likely=forward)


def joined(m: Machine, function: Function) -> frozenset[str]:
    """The names that ``torch.cat(name)`` and the like in a function show to be sequences of tensors."""
    found = m.joined.get(function.node)
    if found is None:
        body, piece = m.body(function)
        first: dict[str, bool] = {}
        for name, is_list in () if _JOINING.isdisjoint(piece.mentions) else _joins(body):
            first.setdefault(name, is_list)
        found = m.joined[function.node] = frozenset(name for name, is_list in first.items() if is_list)
    return found


def _joins(node: cst.CSTNode) -> Iterator[tuple[str, bool]]:
    """The names that are joined, and, with False, those that are bound to something else, in the order of the text."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _JOINING:
        first = node.args[0].value if node.args else None
        if isinstance(first, cst.Name):
            yield first.value, True
    elif isinstance(node, cst.Assign) and not list(_joins(node.value)):
        for target in node.targets:
            yield from ((name, False) for name in stale.names(target.target))
    for child in parts(node):
        yield from _joins(child)


_JOINING = frozenset({"cat", "concat", "stack", "hstack", "vstack"})


def call_entry(m: Machine, function: Function, receiver: Value | None) -> None:
    """Read a function as if somebody outside the file called it; what it hands out may be backpropagated."""
    m.state.journal.clear()
    params = function.node.params
    spec = positional(params)
    args: list[Value] = []
    if receiver is not None and spec:
        args.append(receiver)
        spec = spec[1:]
    forward = function.name == "forward" and isinstance(receiver, Object) and classes.is_module(receiver.cls)
    args += [entry_argument(m, function, p, index == 0, forward) for index, p in enumerate(spec)]
    kwargs = {p.name.value: entry_argument(m, function, p, False, forward) for p in params.kwonly_params}
    site = Site(function.piece, function.node, function.node)
    result = run(m, function, args, kwargs, site)
    m.want(result, *classes.kept(m, receiver))


def positional(params: cst.Parameters) -> list[cst.Param]:
    """What a caller may pass by position; two stand for all that ``*args`` takes."""
    rest = [params.star_arg] * 2 if isinstance(params.star_arg, cst.Param) else []
    return [*params.posonly_params, *params.params, *rest]


def call_class(m: Machine, cls: Class) -> None:
    """Read the methods of a class that nothing else in the file called, on an instance made with its defaults."""
    members = sorted(cls.members.items(), key=_likely_caller)
    if not any(worth(m, member) for _, member in members if isinstance(member, Function)):
        return
    if classes.inherits(cls, classes.FUNCTION):
        if not any(getattr(cls.members.get(name), "node", None) in m.reached for name in ("forward", "backward")):
            call_custom(m, cls)
        return
    for name, member in members:
        if not isinstance(member, Function) or member.node in m.reached or not worth(m, member):
            continue
        if name != "step" and classes.optimizes(cls):
            member = replace(member, grad=False)  # what a step calls, with the parameters and their gradients
        if name == "__init__":
            m.want(instance_entry(m, cls))
        elif member.kind in ("static", "class"):
            fresh_entry(m)
            call_entry(m, member, cls if member.kind == "class" else None)
        else:
            call_entry(m, member, instance_entry(m, cls))
    getter = classes.member(cls, "__getitem__")
    if isinstance(getter, Function) and any(classes.inherits(cls, name) for name in classes.DATASETS):
        kept.read_twice(m, getter, instance_entry(m, cls), Site(getter.piece, getter.node, getter.node))


def worth(m: Machine, function: Function) -> bool:
    """Whether a function is to be read as an entry: see `reach`.

    A private one that is spelled in what was read, but only where no reading came, or where no gradient is recorded, is
    not: what only inference calls, or only an option that no caller of this file sets, is nobody else's to call.
    """
    if function.text is not None and not function.text.worth:
        return False
    name = function.name
    return not name.startswith("_") or name.endswith("_") or name in m.asked or name not in m.spelled


def _likely_caller(item: tuple[str, Value]) -> tuple[bool, bool]:
    """Sorts the methods that call others before those they call."""
    return item[0] not in ("forward", "__call__"), item[0].startswith("_")


def call_custom(m: Machine, cls: Class) -> None:
    """Read a custom autograd function as if somebody outside the file applied it."""
    fresh_entry(m)
    forward = classes.member(cls, "forward")
    args: list[Value] = []
    if isinstance(forward, Function):
        with_context = classes.member(cls, "setup_context") is None
        params = positional(forward.node.params)[with_context:]
        args = [entry_argument(m, forward, param, index == 0, False) for index, param in enumerate(params)]
    m.want(custom.apply(m, cls, args, {}, Site(cls.piece, cls.node, cls.node)))


def instance_entry(m: Machine, cls: Class) -> Value:
    """Start an entry from the state in which an instance has just been made; its ``__init__`` is read once a class."""
    fresh_entry(m)
    if cls not in m.strangers:
        instance = stranger(m, cls)
        m.strangers[cls] = Start(instance, m.state.store, m.state.path, dict(m.symbols), dict(m.promoted))
    start = m.strangers[cls]
    m.state = State(store=dict(start.store), path=dict(start.path))
    m.symbols, m.promoted = dict(start.symbols), dict(start.promoted)
    return start.instance


def stranger(m: Machine, cls: Class) -> Value:
    """An instance made by somebody outside the file."""
    init = classes.member(cls, "__init__")
    if not isinstance(init, Function):
        return classes.instantiate(m, cls, [], {}, Site(cls.piece, cls.node, cls.node))
    instance = Object(cls)
    params = init.node.params
    args: list[Value] = [instance]
    for param in [*params.posonly_params, *params.params][1:]:
        args.append(_option(init, param))
    kwargs = {p.name.value: _option(init, p) for p in params.kwonly_params}
    run(m, init, args, kwargs, Site(cls.piece, cls.node, cls.node))
    return instance


def _option(init: Function, param: cst.Param) -> Value:
    default = init.defaults.get(param.name.value)
    scalar = annotation(param.annotation) == "scalar" or (isinstance(default, Const) and default != NONE)
    return Unknown(scalar=scalar, default=default)


def fresh_entry(m: Machine) -> None:
    m.state = State(store=dict(m.base))
    m.pending = {}
    m.entry_steps = m.recursive = 0
    m.symbols, m.promoted = {}, {}
    m.events, m.stored, m.returned, m.rescaled, m.updates, m.handed, m.parts = {}, {}, {}, {}, {}, {}, {}
    m.overtaken, m.keepers = {}, {}


def load(m: Machine, piece: Piece, module: Frame) -> None:
    """Read a top-level statement the first time that one of its names is asked for."""
    if piece in m.loaded:
        return
    m.loaded.add(piece)
    state, active, calling = m.state, m.active, m.calling
    m.state, m.active, m.calling, frames, m.frames = State(store=m.base), [], [], m.frames, []
    frame = Frame(module.vars, piece)
    try:
        suite(m, m.read(piece), frame)
        for name in piece.binds:
            _fillable(m, module.vars.get(name))
            for other in m.file.registered.get(name, ()):
                load(m, other, module)
    finally:
        m.state, m.active, m.calling, m.frames = state, active, calling, frames
    for thing, value in m.base.items():
        state.store.setdefault(thing, value)


def _fillable(m: Machine, value: Value | None) -> None:
    """An empty container of the module is there to be filled, by decorators or by others who import it."""
    if isinstance(value, Dict) and not m.state.get(value).items:
        m.state.put(value, Attributes({}, True))
    elif isinstance(value, List) and not m.state.get(value).items:
        m.state.put(value, Items((), True))


def analyse(file: Scan, extra: frozenset[str] = frozenset()) -> Machine:
    """Read a whole file: its module-level code, then whatever that did not call.

    ``extra`` are the families that are off by default and wanted all the same: "possible", "style".
    """
    m = Machine(file, extra=extra)
    m.run = lambda function, args, kwargs, site: run(m, function, args, kwargs, site)
    m.bind = lambda target, value, frame: bind(m, target, value, frame)
    m.load = lambda piece, module: load(m, piece, module)
    module = Frame({"__name__": Const("__main__")}, file.pieces[0])
    piece = file.pieces[0]
    try:
        with not_too_deep(m, piece):
            _module_code(m, module)
        for piece in callers_first(file):
            with not_too_deep(m, piece):
                _definition(m, piece, module)
    except Exhausted:
        m.unreadable[piece] = "this and what follows ask for more work than a linter should do"
    refusals, m.refusals = m.refusals, []
    for refusal in refusals:
        with not_too_deep(m, refusal.write.piece):
            m.refusals += [refusal] if not stale.optional(refusal) else []
    return m


@contextmanager
def not_too_deep(m: Machine, piece: Piece) -> Iterator[None]:
    """Read something of a piece; where it is nested too deeply for Python, the others are read all the same."""
    try:
        yield
    except RecursionError:
        m.unreadable[piece] = "nested too deeply"


def _definition(m: Machine, piece: Piece, module: Frame) -> None:
    load(m, piece, module)
    for name in piece.binds:
        value = module.vars.get(name)
        if isinstance(value, Function) and value.node not in m.reached and worth(m, value):
            fresh_entry(m)
            m.state.set(m.state.modes, "grad", name not in m.file.backwards)
            call_entry(m, value, None)
        elif isinstance(value, Class):
            call_class(m, value)


def _module_code(m: Machine, module: Frame) -> None:
    """Module-level statements, in order; where none of them matters they are left until a name asks for them."""
    fresh_entry(m)
    m.frames = [module]
    if all(piece.definition for piece in m.file.worth):
        return
    for piece in m.file.pieces:
        if not piece.definition and piece not in m.loaded:
            m.loaded.add(piece)
            module.piece = piece
            suite(m, m.read(piece), module)
            for other in [other for name in piece.binds for other in m.file.registered.get(name, ())]:
                if other not in m.loaded:
                    m.loaded.add(other)
                    suite(m, m.read(other), Frame(module.vars, other))
    filled = {thing: what for thing, what in m.state.store.items() if isinstance(thing, (List, Dict, Object))}
    m.base.update(filled)  # what is called later finds the tables and registries of the module as it left them


def callers_first(file: Scan) -> list[Piece]:
    """The definitions worth reading, each after those that mention it, so that it is read as it is really called."""
    order: list[Piece] = []
    seen: set[Piece] = set()

    def visit(piece: Piece) -> None:
        stack = [(piece, users(piece))]
        seen.add(piece)
        while stack:
            current, rest = stack[-1]
            following = next((user for user in rest if user not in seen), None)
            if following is None:
                order.append(current)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, users(following)))

    mentions: dict[str, list[Piece]] = {}
    for piece in file.worth:
        for name in piece.mentions:
            mentions.setdefault(name, []).append(piece)
    left = {name: iter(pieces) for name, pieces in mentions.items()}  # whoever was seen once is not looked at again

    def users(piece: Piece) -> Iterator[Piece]:
        private = {function.name for function in piece.functions if function.name.startswith("_")}
        for name in sorted(piece.binds | private):
            yield from left.get(name, ())

    for piece in file.worth:
        if piece not in seen:
            visit(piece)
    return [piece for piece in order if piece.definition and not wraps(piece, file)]
