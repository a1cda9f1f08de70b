"""Calls of functions that the program defines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import libcst as cst

from ..hazards import intent
from ..heap.join import choose
from ..heap.state import Exit, State, variables
from ..heap.values import NONE, Choice, Dict, Grad, Object, Tensor, Tuple, Unknown, Value, constant
from ..models import amp, calls, lazy, lineage, tensors
from ..program import wording
from ..program.nodes import parts
from ..program.operands import called_name
from ..program.pieces import Piece
from ..program.site import Site
from ..trace import events
from ..trace.callables import Autocast, Dispatch, Managed
from ..trace.frames import Frame, Function
from ..trace.stack import DEPTH
from ..trace.trace import Trace
from . import uses
from .annotations import annotation, names_of
from .dispatch import evaluate, suite

RECURSIONS = 3
"""The deepest recursion of a function that is read. It is 1 after `RECURSIVE` recursive calls in an entry point."""
RECURSIVE = 32


def _too_deep(m: Trace, function: Function) -> bool:
    """Return whether a call is not followed: the stack or the recursion is too deep, or the entry is over budget."""
    busy, budget = m.stack.runs(function.node), m.budget
    budget.recursive += busy > 0
    recursions = RECURSIONS if budget.recursive <= RECURSIVE else 1
    return busy > recursions or len(m.stack.functions) >= DEPTH or budget.is_entry_over()


def run(m: Trace, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call a function of the program: read its body with these arguments."""
    if function.managed:
        return Managed(function, args, kwargs, site)
    if function.wrapped is not None:
        before = m.work.ran.get(function.node)
        outer, m.stack.thrown = m.stack.thrown, function.node if m.stack.is_statement(site) else None
        around, m.stack.decorated = m.stack.decorated, m.stack.decorated if m.budget.other_calls else function.node
        result = calls.call(m, function.wrapped, args, kwargs, site)
        m.stack.thrown, m.stack.decorated = outer, around
        if m.work.ran.get(function.node) != before or isinstance(function.wrapped, Dispatch):
            return result
    if function.memoized:
        return _memoized(m, function, args, kwargs, site)
    m.work.ran[function.node] = m.clock
    if function.resume is None and m.text.yields(function):
        body = partial(_resumed, m, function, args, kwargs, site)
        return lazy.generator(m, body, [*args, *kwargs.values()])
    own = function.piece.path == m.text.file.path
    if not own:
        uses.note(m, function, [*args, *kwargs.values()], site)
    if _too_deep(m, function):
        if own:
            _cut(m, function)
        return _unread(m, function, [*args, *kwargs.values()])
    if own and (not m.budget.other_calls or m.stack.decorated is function.node):
        running = m.budget.enter_own_file()
        try:
            return _call(m, function, args, kwargs, site)
        finally:
            m.budget.leave_own_file(running)
    if not m.budget.enter_other_file():
        if own:
            _cut(m, function)
        return _unread(m, function, [*args, *kwargs.values()])
    try:
        return _call(m, function, args, kwargs, site)
    finally:
        m.budget.leave_other_file()


def _unread(m: Trace, function: Function, args: list[Value]) -> Value:
    """Return the result of a call that is not followed: a number, if the function is annotated to return one."""
    result = tensors.unknown_call(m, *args)
    returns = function.node.returns if isinstance(function.node, cst.FunctionDef) else None
    said = annotation(returns, names_of(m, function.piece.path))
    return Unknown(scalar=True) if said == "scalar" else result


def _resumed(
    m: Trace,
    function: Function,
    args: list[Value],
    kwargs: dict[str, Value],
    site: Site,
    resume: Callable[[Value], None],
    once: bool,
) -> Value:
    """Run the body of a generator function. ``resume`` gets what it yields: see `lazy.Body`."""
    return run(m, replace(function, resume=resume, once=once), args, kwargs, site)


def _cut(m: Trace, function: Function) -> None:
    """Note a call that is not followed, and the functions of the file that code of other files has called on the way.

    They count as unread, so that they are read as entry points, as they would be without the other files.
    """
    path, through = m.text.file.path, False
    for caller in [*m.stack.functions, function]:
        through = through or caller.piece.path != path
        if through and caller.piece.path == path:
            m.work.cut.add(caller.node)


def _memoized(m: Trace, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Call a function under ``functools.cache``: equal arguments are given the result of the first call, not a copy."""
    key = (function.node, tuple(map(m.see, args)), frozenset((name, m.see(value)) for name, value in kwargs.items()))
    known: Value | None = m.state.store.get(key)
    if known is None:
        known = run(m, replace(function, memoized=False), args, kwargs, site)
        m.state.set(m.state.store, key, known)
        if args or kwargs:  # without, it is a state of the program
            events.cache(m, function, known)
    return known


def _call(m: Trace, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    body, piece = m.text.body(function)
    if isinstance(function.autocast, Autocast) and function.autocast.casts:
        args = amp.cast_inputs(m, args)
    frame = Frame(variables(), piece, function.frame, function.owner, args[0] if function.owner and args else None)
    frame.function, frame.given, frame.born = function, [*args, *kwargs.values()], m.tick()
    complete = parameters(m, function, args, kwargs, frame, entry=site.node is function.node)
    before, stepping, modes = function.node in m.work.reached, m.stack.stepping, dict(m.state.modes)
    unread, m.unread, named, m.naming = m.unread, False, m.naming, None
    if stepping is None and site.node is not function.node and lineage.optimizes(function.owner):
        m.stack.stepping = site
    _note_reached(m, function, piece, complete)
    unused = m.stack.is_statement(site) or m.stack.thrown is function.node
    m.stack.functions.append(function)
    m.stack.calls.append(site)
    m.stack.frames.append(frame)
    _set_modes(m, function, modes)
    try:
        if not isinstance(body, cst.BaseSuite):
            return evaluate(m, body, frame)
        value = _run_body(m, body, frame)
        if value is None:
            return Unknown()
        forget(m.state, frame)
        in_place = constant(kwargs.get("inplace", NONE)) is True
        _announce(m, frame, value, called_name(site.expression) or function.name, in_place, unused)
        return value
    finally:
        _restore_modes(m, function, modes)
        m.stack.stepping, m.unread, m.naming = stepping, unread, named
        if not before and function.node in m.work.cut:
            m.work.reached.discard(function.node)
        frame.exits.clear()
        m.stack.functions.pop()
        m.stack.calls.pop()
        m.stack.frames.pop()


def _note_reached(m: Trace, function: Function, piece: Piece, complete: bool) -> None:
    """Note that a function has been read, if it was read as its caller calls it: it is no entry point any more.

    Within a step the writes of an optimizer are not judged.
    """
    if not m.budget.other_calls:
        m.work.cut.discard(function.node)
    own = m.stack.stepping is not None and lineage.optimizes(function.owner)
    if (complete or function.name != "forward") and not own:
        m.work.reached.add(function.node)
        m.work.mentioned |= piece.mentions if function.text is not None else frozenset()


def _set_modes(m: Trace, function: Function, modes: dict[str, Any]) -> None:
    """Switch to the modes that a function runs in by its decorators."""
    if function.grad is not None:
        m.state.set(m.state.modes, "grad", function.grad)
        m.state.set(m.state.modes, "inference", function.inference or modes.get("inference"))
    if function.autocast is not None:
        amp.switch(m, function.autocast)


def _restore_modes(m: Trace, function: Function, modes: dict[str, Any]) -> None:
    """Return to the modes of the caller. ``__enter__`` and ``__exit__`` switch for it, unless a decorator does."""
    if function.name in ("__enter__", "__exit__") and function.grad is None:
        return
    state = m.state
    state.set(state.modes, "grad", modes.get("grad", True))
    state.set(state.modes, "inference", modes.get("inference"))
    if state.modes.get("autocast") is not modes.get("autocast"):
        state.set(state.modes, "autocast", modes.get("autocast"))


def _announce(m: Trace, frame: Frame, value: Value, called: str, in_place: bool, unused: bool) -> None:
    """Tell the checkers that a call returns. ``called`` is the name that its caller uses: ``scale_`` says in-place."""
    if in_place or intent.says_in_place(called):
        events.announce(m, frame.given, frame.born)
        return
    makes = frame.function is not None and frame.function.name == "__init__" and bool(frame.given)
    result, taken = (frame.given[0], frame.given[1:]) if makes else (value, frame.given)  # its caller gets the instance
    events.returns(m, taken, result, frame.born, not unused)


def _run_body(m: Trace, body: cst.BaseSuite, frame: Frame) -> Value | None:
    """Run the statements of a call, and join the states of all ways out; None where there is no way out."""
    state = m.state
    frame.mark = state.mark()
    frame.last = _end(body)
    entry = state.guard()
    if suite(m, body, frame):
        frame.exits.append(Exit(state.guard(), {}, NONE))
        frame.ended = True
    if not frame.exits:
        return None
    if len(frame.exits) > 1 or not frame.ended:
        if frame.ended:  # the state is that of the last way out
            frame.exits[-1].delta = state.changes(frame.mark)
        for way in frame.exits:
            way.guard = way.guard - entry
        state.merge(frame.mark, frame.exits)
    return choose([(way.guard, way.value) for way in frame.exits])


def _end(body: cst.BaseSuite) -> cst.CSTNode | None:
    """The simple statement at the end of a body, if there is one."""
    line = body.body[-1] if body.body else None
    return line.body[-1] if isinstance(line, cst.SimpleStatementLine) else None


def forget(state: State, frame: Frame) -> None:
    """Drop the variables of a finished call from the journal: nothing will roll them back."""
    journal = state.journal
    kept = [entry for entry in journal[frame.mark :] if entry[0] is not frame.vars and entry[0] is not frame.times]
    journal[frame.mark :] = kept


def parameters(
    m: Trace, function: Function, args: list[Value], kwargs: dict[str, Value], frame: Frame, entry: bool
) -> bool:
    """Bind the parameters of a call. Return whether all required ones got known values.

    An ``entry`` point may get other keyword arguments than those that are listed.
    """
    params = function.node.params
    named = [p.name.value for p in (*params.posonly_params, *params.params)]
    rest = dict(kwargs)
    complete = True
    receiver = args[0] if args and function.name == "forward" else None
    into_module = isinstance(receiver, Object) and lineage.is_module(receiver.cls)
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
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        value = frame.vars[param.name.value]
        if type(value) is Tensor and value.place is None:
            value.place = Site(function.piece, function.node, param)
        elif type(value) is Unknown and value not in m.reports.given:
            m.reports.given[value] = Site(function.piece, function.node, param)
    return complete


def _given_tensor(m: Trace, value: Value) -> Value:
    """Refine an argument for a parameter that is annotated as a tensor: drop the option None."""
    value = m.see(value)
    if not isinstance(value, Choice):
        return m.promote(value)
    options = tuple((guard, m.promote(option)) for guard, option in value.options if m.see(option) != NONE)
    return options[0][1] if len(options) == 1 else Choice(options) if options else value


def _is_input(m: Trace, function: Function, value: Value) -> bool:
    """Return whether an unknown first argument of a ``forward`` counts as a tensor: nothing says that it is none."""
    value = m.see(value)
    param = positional(function.node.params)[1]
    unsaid = param.annotation is None and param.name.value not in {*function.defaults, *joined(m, function)}
    data = isinstance(value, Unknown) and value.grad is Grad.NO and value.node is None and value.default is None
    return unsaid and data


def _blank(m: Trace, value: Value) -> bool:
    value = m.see(value)
    return isinstance(value, Unknown) and not value.scalar and value.default is None


def joined(m: Trace, function: Function) -> frozenset[str]:
    """Return the variables of a function that are sequences of tensors, as what it does with them shows.

    It joins them, ``torch.cat(name)``, or replaces each element by what a module of its own makes of it. Of a tensor,
    whose rows the modules save, the backward would raise each time: ``name[i] = self.layers[i](name[i])``.
    """
    found = m.text.joined.get(function.node)
    if found is None:
        body, piece = m.text.body(function)
        first: dict[str, bool] = {}
        for name, is_list in () if _JOINING.isdisjoint(piece.mentions) else _joins(body):
            first.setdefault(name, is_list)
        first.update((name, True) for name in _replaced(body) if first.get(name, True))
        found = m.text.joined[function.node] = frozenset(name for name, is_list in first.items() if is_list)
    return found


def _joins(node: cst.CSTNode) -> Iterator[tuple[str, bool]]:
    """Yield variables in the order of the text: with True if they are joined, with False if they are bound."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _JOINING:
        first = node.args[0].value if node.args else None
        if isinstance(first, cst.Name):
            yield first.value, True
    elif isinstance(node, cst.Assign) and not list(_joins(node.value)):
        for target in node.targets:
            yield from ((name, False) for name in wording.targets(target.target))
    for child in parts(node):
        yield from _joins(child)


def _replaced(node: cst.CSTNode) -> Iterator[str]:
    """Yield the variables of ``x[i] = self.layers[i](x[i])``."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1 and type(node.targets[0].target) is cst.Subscript:
        target = node.targets[0].target
        if isinstance(target.value, cst.Name) and isinstance(node.value, cst.Call) and _is_of_row(node.value, target):
            yield target.value.value
    for child in parts(node):
        yield from _replaced(child)


def _is_of_row(call: cst.Call, row: cst.Subscript) -> bool:
    """Return whether one of several callables is given an element, both with the same variable as their index."""
    if len(row.slice) != 1 or not isinstance(call.func, cst.Subscript) or not call.args:
        return False
    index, chosen = row.slice[0].slice, call.func.slice[0].slice
    named = isinstance(index, cst.Index) and isinstance(index.value, cst.Name)
    return named and chosen.deep_equals(index) and call.args[0].value.deep_equals(row)


_JOINING = frozenset({"cat", "concat", "stack", "hstack", "vstack"})


def positional(params: cst.Parameters) -> list[cst.Param]:
    """Return the positional parameters. ``*args`` counts as two."""
    rest = [params.star_arg] * 2 if isinstance(params.star_arg, cst.Param) else []
    return [*params.posonly_params, *params.params, *rest]
