"""Custom autograd functions: what their forward saves, and what their backward must not overwrite."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.state import Declared, same_or_none
from ..heap.values import (
    NONE,
    Cell,
    CellState,
    Const,
    Grad,
    Node,
    Object,
    Ref,
    Saved,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
)
from ..program import wording
from ..program.site import Site
from ..trace import events, holdings
from ..trace.backward import SECOND_BACKWARD
from ..trace.frames import Class, Function
from ..trace.trace import Trace
from . import classes, lineage, operators, tensors
from .registry import Call, method

CONTEXT = Ref("torch.autograd.function.FunctionCtx")
MARKED: Declared[Object, Site | None] = Declared(same_or_none)
"""The place where a context was told which inputs are dirty."""


@method(CONTEXT.name, "save_for_backward", "mark_dirty")
def _take(call: Call, context: Object) -> Value:
    """``save_for_backward`` and ``mark_dirty``, which take nothing but tensors."""
    kept = "saved_tensors" if call.name == "save_for_backward" else "dirty"
    given = Tuple(tuple(map(call.m.promote, call.args)))
    classes.set_attribute(call.m, context, kept, given, call.site)
    if kept == "dirty":
        call.m.state.set(call.m.state[MARKED], context, call.site)
    return NONE


@method(lineage.FUNCTION, "apply")
def _apply(call: Call, instance: Object) -> Value | None:
    cls = instance.cls
    return apply(call.m, cls, call.args, call.kwargs, call.site) if isinstance(cls, Class) else None


def apply(m: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """``Function.apply``: the forward runs without grad mode; what it hands to ``save_for_backward`` is saved.

    Its backward is read as well, for what it must not overwrite: the gradients that it is given, and the inputs and
    results of the forward.
    """
    forward, context, begin = lineage.member(cls, "forward"), Object(CONTEXT), m.tick()
    enabled, outer, m.backward.used = m.grad_mode, m.backward.used, set()
    m.state.set(m.state.modes, "grad", False)
    if isinstance(forward, Function):
        setup = lineage.member(cls, "setup_context")
        result = m.run(forward, args if isinstance(setup, Function) else [context, *args], kwargs, site)
        if isinstance(setup, Function):
            m.run(setup, [context, Tuple(tuple(args)), result], {}, site)
    else:
        result = tensors.unknown_call(m, *args)
    used, m.backward.used = m.backward.used, None if outer is None else outer | m.backward.used
    events.hand_over(m, (context,))  # the backward reads what is kept on it
    events.announce(m, _kept(m, context, "dirty"), begin)
    _judge_marks(m, context, result, enabled)
    _differentiate(m, cls, context, args, result, begin, used)
    m.state.set(m.state.modes, "grad", enabled)
    grad = max((holdings.reach(m, a) for a in args), default=Grad.NO) if enabled else Grad.NO
    if not grad:
        return result
    given = [tensor for arg in args for tensor in holdings.tensors_in(m, arg)]
    node = Node(cls.name, tuple(_saves(m, cls, context, result, given, site)), m.history(*map(m.see, args)))
    for tensor in _kept(m, context, "dirty"):
        m.state.put(tensor.cell, CellState(grad, node, False))
    return _outputs(m, result, grad, node, given)


def _judge_marks(m: Trace, context: Object, result: Value, enabled: bool) -> None:
    """Ask for what PyTorch refuses of the inputs marked dirty, where all results are known to be tensors."""
    site, result = m.state[MARKED].get(context), m.see(result)
    items = [m.see(item) for item in (result.items if isinstance(result, Tuple) else (result,))]
    if site is not None and all(isinstance(item, (Tensor, Const)) for item in items):
        m.state.set(m.state.modes, "grad", enabled)
        events.mark_dirty(m, _kept(m, context, "dirty"), [item for item in items if isinstance(item, Tensor)], site)
        m.state.set(m.state.modes, "grad", False)


def _saves(m: Trace, cls: Class, context: Object, result: Value, given: Sequence[Tensor], site: Site) -> list[Saved]:
    """What ``save_for_backward`` keeps, and the tensors on attributes of ``ctx`` that the backward reads."""
    results, saves = list(holdings.tensors_in(m, result)), []
    inputs = {tensor.storage for tensor in given}
    for tensor in _kept(m, context, "saved_tensors"):
        slot = "result" if tensor in results else "input" if tensor.storage in inputs else "made"
        saves.append(operators.keep(m, cls.name, slot, tensor.storage, site))
    backward = lineage.member(cls, "backward")
    if not isinstance(backward, Function):
        return saves
    for name, tensor in _attributes(m, context, backward):
        saves.append(operators.keep(m, cls.name, f"ctx.{name}", tensor.storage, site))
    for index, write in m.work.backwards.get(backward, ()):
        if index < len(saves):
            again = m.state[SECOND_BACKWARD]
            m.state.set(again, saves[index], (*again.get(saves[index], ()), write))
    return saves


def _attributes(m: Trace, context: Object, backward: Function) -> list[tuple[str, Tensor]]:
    """The tensors on attributes of ``ctx`` that the backward reads, each with the name of the attribute."""
    read = frozenset(wording.mentioned(m.text.body(backward)[0])) - {"saved_tensors", "dirty"}
    named = [(name, value) for name, value in m.state.get(context).items.items() if name in read]
    return [(name, tensor) for name, value in named for tensor in holdings.tensors_in(m, value)]


def _tensors(m: Trace, value: Value) -> list[Tensor]:
    """The tensors that an argument is, or that it is if the backward proves it to be one."""
    value = m.see(value)
    if isinstance(value, Unknown) and not value.scalar:
        return [m.tensor_of(value)]
    return list(holdings.tensors_in(m, value))


def _kept(m: Trace, context: Object, name: str) -> list[Tensor]:
    return list(holdings.tensors_in(m, m.state.get(context).items.get(name, NONE)))


def _differentiate(
    m: Trace, cls: Class, context: Object, args: list[Value], result: Value, begin: int, used: set[Storage]
) -> None:
    """Read the backward, once for every function object, and leave no trace of it in the state.

    ``used`` is what the forward computed with.

    What it saved for itself alone it may overwrite, as long as no second backward comes: that is remembered.
    """
    backward = lineage.member(cls, "backward")
    if not isinstance(backward, Function) or backward in m.work.backwards or m.backward.readonly:
        return
    mark = m.state.mark()
    grads = [Tensor() for _ in (*backward.node.params.posonly_params, *backward.node.params.params)][1:]
    inputs = [_tensors(m, value) for value in args]
    results = {tensor.storage for tensor in holdings.tensors_in(m, result)}
    given = {tensor.storage for found in inputs for tensor in found}
    known = {tensor.storage for value in args for tensor in holdings.tensors_in(m, value)}
    m.backward.records = {each for each in known - used - results if not m.state.get(each)}
    m.backward.readonly = dict.fromkeys(given | results, "saved")
    m.backward.readonly |= {tensor.storage: "grad_output" for tensor in grads}
    saved = [tensor.storage for tensor in _kept(m, context, "saved_tensors")]
    saved += [tensor.storage for _, tensor in _attributes(m, context, backward)]
    m.backward.saved = {storage: [] for storage in saved}
    place = m.backward.place = Site(backward.piece, backward.node, backward.node)
    outer, m.backward.used = m.backward.used, set()
    returned = m.see(m.run(backward, [context, *grads], {}, place))
    m.work.backwards[backward] = [(i, write) for i, storage in enumerate(saved) for write in m.backward.saved[storage]]
    m.backward.readonly, m.backward.saved, m.backward.records, m.backward.used = {}, {}, set(), outer
    m.state.rollback(mark)
    found = returned.items if isinstance(returned, Tuple) else (returned,)
    events.differentiate(m, inputs, found, _kept(m, context, "dirty"), begin)


def _outputs(m: Trace, result: Value, grad: Grad, node: Node, given: list[Tensor]) -> Value:
    """What a custom function returned, as its caller sees it: with a grad_fn; a view may not be written in place.

    An argument that is handed back as it was comes out as a view of itself.
    """
    result = m.see(result)
    if isinstance(result, Tuple):
        return Tuple(tuple(_outputs(m, item, grad, node, given) for item in result.items))
    if isinstance(result, Tensor) and m.cell(result).node is not node:
        alias = result.view is not View.NONE or result in given
        view = View.CUSTOM if alias and result.origin not in (Source.MAYBE_ALIAS, Source.MAYBE_SAME) else View.NONE
        return Tensor(result.storage, Cell(grad, node, leaf=False), view, dtype=result.dtype)
    if isinstance(result, Unknown) and not result.scalar:
        return Unknown(grad, node, likely=True)
    return result
