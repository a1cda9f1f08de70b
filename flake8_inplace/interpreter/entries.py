"""Entry points: functions and classes of the file, called as external code may call them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from ..heap.values import ALWAYS, NONE, Cell, Choice, Const, Grad, Guard, List, Object, Tensor, Unknown, Value
from ..models import arrays, classes, custom, lazy, lineage
from ..program.site import Site
from ..trace import events
from ..trace.budget import BORROWED_STATEMENTS
from ..trace.callables import Bound
from ..trace.frames import Class, Function
from ..trace.trace import Trace
from ..trace.worklist import Start
from . import evidence
from .annotations import annotation, names_of
from .functions import joined, positional, run

RUNNERS = frozenset({"forward", "__call__"})
"""Methods that run when a module is called."""


def entry_argument(m: Trace, function: Function, param: cst.Param, first: bool, forward: bool) -> Value:
    """Return what external code may pass for a parameter."""
    said = annotation(param.annotation, names_of(m, function.piece.path))
    default = function.defaults.get(param.name.value)
    if forward and not first and said in ("", "tensor", "maybe") and (default is None or default == NONE):
        return Tensor() if said == "tensor" else Unknown(likely=True)  # labels, masks, ids and states
    if said == "tensor":
        return Tensor(cell=Cell(Grad.MAYBE, leaf=False))
    if said == "parameter":  # its caller may have disabled gradients to write to it
        return Tensor(cell=Cell(Grad.YES, leaf=False))
    if said == "data":
        return Tensor()
    if said == "maybe":
        return Unknown(Grad.MAYBE, likely=True)
    if said == "tensors":
        return List([Tensor(cell=Cell(Grad.MAYBE, leaf=False)) for _ in range(2)], open=True)
    if said == "array" and default is None:
        return arrays.over(m, Unknown())
    if said in ("scalar", "array"):
        return Unknown(scalar=True, default=default)
    if default is not None and default != NONE:
        return Unknown(scalar=isinstance(default, Const), default=default)
    if said == "other":
        return Unknown(Grad.MAYBE)
    name, likely = param.name.value, forward
    if forward and first and default is None and name not in joined(m, function):
        foreign = evidence.foreign_attribute(m, function, name)
        if not foreign:
            return Tensor(cell=Cell(Grad.MAYBE, leaf=False))
        likely = hasattr(dict, foreign)  # the elements of a batch are tensors
    return Unknown(Grad.MAYBE, likely=likely)


def call_entry(m: Trace, function: Function, receiver: Value | None) -> None:
    """Call a function as an entry point. A backward may start from its result, and from attributes of its receiver."""
    m.state.journal.clear()
    m.work.entries.add(function.node)
    params = function.node.params
    spec = positional(params)
    args: list[Value] = []
    if receiver is not None and spec:
        args.append(receiver)
        spec = spec[1:]
    forward = function.name == "forward" and isinstance(receiver, Object) and lineage.is_module(receiver.cls)
    args += [entry_argument(m, function, p, index == 0, forward) for index, p in enumerate(spec)]
    _refine(m, function, spec, args)
    kwargs = {p.name.value: entry_argument(m, function, p, False, forward) for p in params.kwonly_params}
    site = Site(function.piece, function.node, function.node)
    before, begin = m.budget.statements, m.tick()
    had = m.state.get(receiver) if isinstance(receiver, Object) else None
    called = _called(function, receiver) if forward else function
    result = run(m, called, args, kwargs, site)
    if called is not function and function.node not in m.work.reached:
        result = run(m, function, args, kwargs, site)
    lazy.read(m, result)
    if isinstance(receiver, Object) and had is not None:
        events.method(m, receiver, had, begin)
    if function.text is not None and function.text.borrowed:
        m.budget.borrowed += m.budget.statements - before
    events.reach(m, (result,))
    events.keep(m, lineage.kept(m, receiver))


def _called(forward: Function, receiver: Value | None) -> Function:
    """What runs when a module is called: its own ``__call__``, which mostly goes on to ``forward`` by ``super()``."""
    found = lineage.member(receiver.cls, "__call__") if isinstance(receiver, Object) else None
    return found if isinstance(found, Function) else forward


def _refine(m: Trace, function: Function, spec: list[cst.Param], args: list[Value]) -> None:
    """An argument of which nothing is said is a tensor if the text of the function proves it."""
    plain = {
        param.name.value: value
        for param, value in zip(reversed(spec), reversed(args), strict=False)
        if param.annotation is None and isinstance(value, Unknown) and value.default is None
    }
    for name in evidence.tensors(m, function) if plain else ():
        if isinstance(name, str) and name in plain and name not in function.defaults:
            m.promote(plain[name])
    for name in evidence.arrays(m, function).intersection(plain.keys() - function.defaults.keys()):
        arrays.over(m, plain[name])


def _chosen(m: Trace, instance: Value, method: Function) -> Guard:
    """On which paths ``__init__`` chose a method: ``if mode == "fast": self.forward = self.forward_fast``."""
    held = m.state.get(instance).items.values() if isinstance(instance, Object) else ()
    choices = [value for value in held if isinstance(value, Choice)]
    for guard, option in [each for choice in choices for each in choice.options]:
        if isinstance(option, Bound) and option.function.node is method.node and option.receiver is instance:
            return guard
    return ALWAYS


def call_class(m: Trace, cls: Class) -> None:
    """Call the methods of a class that no call has reached, on an instance made with default arguments."""
    members = sorted(cls.members.items(), key=_likely_caller)
    if not any(worth(m, member) for _, member in members if isinstance(member, Function)):
        return
    for method in _templates(m, cls):
        instance = instance_entry(m, cls)
        call_entry(m, method, instance)
    if lineage.inherits(cls, lineage.FUNCTION):
        if not any(getattr(cls.members.get(name), "node", None) in m.work.reached for name in ("forward", "backward")):
            call_custom(m, cls)
        return
    for name, member in members:
        if not isinstance(member, Function) or member.node in m.work.reached or not worth(m, member):
            continue
        if name != "step" and lineage.optimizes(cls):
            member = replace(member, grad=False)  # a step calls it, with parameters and their gradients
        if name == "__init__":
            events.reach(m, (instance_entry(m, cls),))
        elif member.kind in ("static", "class"):
            m.fresh_entry()
            call_entry(m, member, cls if member.kind == "class" else None)
        else:
            instance = instance_entry(m, cls)
            m.assume(_chosen(m, instance, member))
            call_entry(m, member, instance)
    getter = lineage.member(cls, "__getitem__")
    if isinstance(getter, Function) and lineage.is_dataset(cls):
        events.dataset(m, getter, instance_entry(m, cls), NONE, True, Site(getter.piece, getter.node, getter.node))


def _templates(m: Trace, cls: Class) -> Iterator[Function]:
    """Yield the inherited methods that come to methods of a class which no call has reached yet.

    ``Base.forward`` calls ``self.mix``, which the class defines: nothing else shows what it is given. So does an
    inherited ``forward`` come to the layers that the class makes in its own ``__init__``.
    """
    above = [base for base in lineage.lineage(cls)[1:] if isinstance(base, Class)]
    if not above or lineage.inherits(cls, lineage.FUNCTION) or lineage.optimizes(cls):
        return
    bases = [member for base in above for member in base.members.values() if isinstance(member, Function)]
    methods = {each.name: each for each in reversed(bases) if each.name not in cls.members and not each.kind}
    init = cls.members.get("__init__")
    makes = isinstance(init, Function) and worth(m, init)
    for name, method in sorted(methods.items(), key=_likely_caller):
        own = _unreached(m, cls)
        runs = name in RUNNERS and (makes or own)
        if runs or (not name.startswith("_") and _comes_to(method, methods, own)):
            yield method


def _unreached(m: Trace, cls: Class) -> frozenset[str]:
    """The methods of a class that are worth reading, and that no call has reached."""
    members = [(name, each) for name, each in cls.members.items() if isinstance(each, Function) and name != "__init__"]
    return frozenset(name for name, each in members if each.node not in m.work.reached and worth(m, each))


def _comes_to(method: Function, methods: dict[str, Function], own: frozenset[str]) -> bool:
    """Whether a method, or one of those that it comes to, mentions one of these names."""
    todo, seen = [method], {method.name}
    while todo:
        mentions = todo.pop().mentions
        if not own.isdisjoint(mentions):
            return True
        inner = mentions.intersection(methods) - seen
        seen |= inner
        todo += [methods[name] for name in inner]
    return False


def worth(m: Trace, function: Function) -> bool:
    """Return whether a function is read as an entry point. See `program.reach` for what makes it worth reading.

    A private function that is called only from code the analysis skipped, or only under ``no_grad``, is not; one that
    the budget for other files has cut is.
    """
    text = function.text
    if text is not None and (not text.worth or (text.borrowed and m.budget.borrowed > BORROWED_STATEMENTS)):
        return False
    name = function.name
    if function.node in m.work.cut:
        return True
    return not name.startswith("_") or name.endswith("_") or name in m.work.private or name not in m.work.mentioned


def _likely_caller(item: tuple[str, Value]) -> tuple[bool, bool]:
    """A sort key: methods that are likely to call others come before those that they call."""
    return item[0] not in RUNNERS, item[0].startswith("_")


def call_custom(m: Trace, cls: Class) -> None:
    """Apply a custom autograd function as an entry point."""
    m.fresh_entry()
    forward = lineage.member(cls, "forward")
    args: list[Value] = []
    if isinstance(forward, Function):
        with_context = lineage.member(cls, "setup_context") is None
        params = positional(forward.node.params)[with_context:]
        args = [entry_argument(m, forward, param, index == 0, False) for index, param in enumerate(params)]
    events.reach(m, (custom.apply(m, cls, args, {}, Site(cls.piece, cls.node, cls.node)),))


def instance_entry(m: Trace, cls: Class) -> Value:
    """Start an entry point with a new instance of a class. ``__init__`` is run once, and the state after it reused."""
    m.fresh_entry()
    if cls not in m.work.receivers:
        instance = external_instance(m, cls)
        m.work.receivers[cls] = Start(instance, m.state.copy(), dict(m.symbols), dict(m.tensors))
    start = m.work.receivers[cls]
    m.state = start.state.copy()
    m.symbols, m.tensors = dict(start.symbols), dict(start.tensors)
    return start.instance


def external_instance(m: Trace, cls: Class) -> Value:
    """Return an instance constructed by external code, with unknown arguments."""
    init = lineage.member(cls, "__init__")
    if not isinstance(init, Function):
        return classes.instantiate(m, cls, [], {}, Site(cls.piece, cls.node, cls.node))
    instance = Object(cls)
    params = init.node.params
    args: list[Value] = [instance]
    for param in [*params.posonly_params, *params.params][1:]:
        args.append(_option(m, init, param))
    kwargs = {p.name.value: _option(m, init, p) for p in params.kwonly_params}
    run(m, init, args, kwargs, Site(cls.piece, cls.node, cls.node))
    return instance


def _option(m: Trace, init: Function, param: cst.Param) -> Value:
    default = init.defaults.get(param.name.value)
    said = annotation(param.annotation, names_of(m, init.piece.path))
    if said == "array" and default is None:
        return arrays.over(m, Unknown())
    scalar = said in ("scalar", "array") or (isinstance(default, Const) and default != NONE)
    return Unknown(scalar=scalar, default=default)
