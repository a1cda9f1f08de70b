"""Which overload of an operator a call means, for each combination of what its arguments may be."""

from __future__ import annotations

from dataclasses import replace

from ..heap.state import Exit
from ..heap.values import NONE, Bindings, CellState, Const, Grad, List, Tensor, Tuple, Unknown, Value, constant
from ..program.site import Site
from ..torchfacts import ops as facts
from ..torchfacts.notation import Param, Save
from ..trace import events, needs
from ..trace.holdings import depth_of, tensors_in
from ..trace.log import Written
from ..trace.trace import Trace
from .dtypes import note_numbers
from .operators import run
from .options import holds
from .refusals import MIXING, in_its_way, into
from .tensors import note_leaf, unknown_call


def apply(
    m: Trace, ops: tuple[facts.Op, ...], args: list[Value], kwargs: Bindings, site: Site, form: str = "op_"
) -> Value:
    """Call an operator, with every combination of what its arguments may be."""
    names = list(kwargs)

    def call(values: list[Value]) -> Value:
        positional, named = values[: len(args)], dict(zip(names, values[len(args) :], strict=True))
        return _apply(m, ops, positional, named, site, form)

    return m.split([*args, *kwargs.values()], call)


def _apply(m: Trace, ops: tuple[facts.Op, ...], args: list[Value], kwargs: Bindings, site: Site, form: str) -> Value:
    own = any(param.name == "out" for op in ops for param in op.params)  # a library's, which has a derivative
    out = NONE if own else kwargs.pop("out", NONE)
    calls = [(args, kwargs)]
    if len(ops) > 1 and (shorter := _without_options_that_are_off(ops, args, kwargs)) != (args, kwargs):
        calls.insert(0, shorter)
    tries = ((op, bind(m, op, *given, lax)) for lax in (False, True) for given in calls for op in ops)
    match = next(((op, bound) for op, bound in tries if bound is not None), None)
    if match is None:
        return unknown_call(m, *args, *kwargs.values())
    op, bound = match
    note_numbers(m, ops, bound)
    op = _sure_of_numbers(op, ops, bound)
    if any(holds(m, condition, bound) for condition in op.identity):
        return m.see(bound[op.params[0].name])
    if op.inplace and constant(bound.get("inplace", NONE)) is True:
        op = facts.lookup(op.inplace)[0]
        _run(m, op, bound, site, "inplace")
        return m.see(bound[op.writes[0]])
    result = _run(m, op, bound, site, form)
    if "requires_grad" in kwargs and constant(kwargs["requires_grad"]) is True and isinstance(result, Tensor):
        m.state.put(result.cell, CellState(Grad.YES, None, True))
        note_leaf(m, result)
    if out != NONE and op.name in MIXING and m.alike is None:
        in_its_way(m, op, m.see(out), bound, site)
    return _into(m, op, out, result, bound, site) if out != NONE else result


def _sure_of_numbers(op: facts.Op, ops: tuple[facts.Op, ...], bound: Bindings) -> facts.Op:
    """The operator without what it saves only if an operand of which nothing is known is a tensor: ``x.pow(n)``.

    What it saves for that operand's own gradient stays, and so does what it saves of the operand.
    """
    unsure = {name for name, value in bound.items() if isinstance(value, Unknown) and not value.likely}
    if len(ops) == 1 or not any(save.slot not in unsure and not unsure.issuperset(save.needs) for save in op.saves):
        return op
    asked = {param.name for param in op.params if param.kind == "tensor"} & unsure
    names = [param.name for param in op.params]
    for other in ops:
        numbers = {param.name for param in other.params if param.kind == "other"}
        if asked and asked <= numbers and [param.name for param in other.params] == names:
            kept = {save.slot for save in other.saves} | asked
            saves = [each if each.slot in kept else _for_the_sake_of(asked, each) for each in op.saves]
            return replace(op, saves=tuple(each for each in saves if each.needs))
    return op


def _for_the_sake_of(names: set[str], save: Save) -> Save:
    return replace(save, needs=tuple(name for name in save.needs if name in names))


def _off_by_default(m: Trace, op: facts.Op, bound: Bindings) -> Unknown | None:
    """Return the option of an operator that does nothing by the default of a parameter: ``attn_drop=0.0``.

    If the path has tested it, what it assumes says so already.
    """
    for condition in op.identity:
        value = m.see(bound.get(condition.option, NONE))
        if isinstance(value, Unknown) and isinstance(value.default, Const) and condition.holds(value.default.value):
            tested = (symbol for key, symbol in m.symbols.items() if isinstance(key, tuple) and value in key)
            return None if any(symbol in m.state.path for symbol in (value, *tested)) else value
    return None


def _run(m: Trace, op: facts.Op, bound: Bindings, site: Site, form: str) -> Value:
    """Run an operator. If a default of the program makes it overwrite nothing, its writes are on other paths only."""
    off = _off_by_default(m, op, bound) if op.identity and op.writes else None
    if off is None:
        return run(m, op, bound, site, form)
    needs.note_option(m, off)
    mark, on = m.state.mark(), frozenset({(off, True)})
    m.state.assume(on)
    result = run(m, op, bound, site, form)
    m.state.merge(mark, [Exit(on, m.state.changes(mark)), Exit(frozenset({(off, False)}), {})])
    return result


def _without_options_that_are_off(
    ops: tuple[facts.Op, ...], args: list[Value], kwargs: Bindings
) -> tuple[list[Value], Bindings]:
    """Leave out an option that has an overload of its own but is given as off: ``log_target=False``, ``hard=False``."""
    asked = {param.name for op in ops for param in op.params if not param.optional and param.kind == "other"}
    places = min(sum(not param.kwonly for param in op.params) for op in ops)
    while len(args) > places and _is_off(args[-1]):
        args = args[:-1]
    return args, {name: value for name, value in kwargs.items() if name not in asked or not _is_off(value)}


def _is_off(value: Value) -> bool:
    """Whether a value is None or False: 0, which equals False, is a dimension."""
    return isinstance(value, Const) and (value.value is None or value.value is False)


def _into(m: Trace, op: facts.Op, out: Value, result: Value, bound: Bindings, site: Site) -> Value:
    """``out=``: the result is written into a tensor that exists."""
    out = m.promote(out)
    targets = list(out.items) if isinstance(out, Tuple) else [out]
    for target in targets:
        target = m.promote(target)
        if isinstance(target, Tensor):
            written, made = Written("copy_", (result,)), [target, *tensors_in(m, result)]
            grad = max(map(m.grad, made))
            given = [tensor for value in bound.values() for tensor in tensors_in(m, value)]
            refused = m.grad_mode and grad is Grad.YES
            events.attempt(m, target, "out", site, grad, refused, False, written)
            if refused:
                asking = next((t for t in [target, *given] if m.grad(t) is Grad.YES), target)
                m.refuse("out grad", site, depth=depth_of(m, target), other=asking.place or target.place)
            elif not into(m, op, target, bound, site):
                events.write(m, target.storage, "out", site)
                events.overwrite(m, target, "out", site, written)
                for tensor in (target, *given):
                    _goes_on_without_grad(m, tensor)
    return out


def _goes_on_without_grad(m: Trace, tensor: Tensor) -> None:
    """Note that an operand of ``out=`` requires no grad: PyTorch would have raised."""
    asked = m.ask(tensor.cell) if m.grad_mode and m.grad(tensor) is Grad.MAYBE else None
    if isinstance(asked, Unknown):
        m.state.assume(frozenset({(asked, False)}))


def bind(m: Trace, op: facts.Op, args: list[Value], kwargs: Bindings, lax: bool = False) -> Bindings | None:
    """The arguments by parameter name, or None where they cannot be meant for this overload.

    ``lax``: an option may be a tensor, which PyTorch takes for a number: ``x.add_(y, alpha=1 / norm)``.
    """
    bound: Bindings = {}
    places = [param for param in op.params if not param.kwonly]
    for index, value in enumerate(args):
        if index >= len(places):
            if not places or not places[-1].varargs:
                return None
            param = places[-1]
        else:
            param = places[index]
        if param.varargs and param.name not in bound:
            if index == len(args) - 1 and isinstance(value, (List, Tuple, Unknown)):
                bound[param.name] = value
            else:
                bound[param.name] = Tuple(tuple(args[index:]))
            break
        bound[param.name] = value
    known = {param.name for param in op.params} if kwargs else ()
    for name, value in kwargs.items():
        if name not in known:
            name = _SYNONYMS.get(name, name)
            if name not in known and name not in _OPTIONS:
                return None
        if name in bound:
            return None
        bound[name] = value
    for param in op.params:
        if param.name not in bound:
            if not param.optional and not param.varargs:
                return None
        elif not _fits(m, param, bound[param.name]) and not (lax and _is_number(m, param, bound[param.name])):
            return None
    return bound


_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}
_OPTIONS = frozenset(
    "dtype device layout requires_grad pin_memory memory_format generator out non_blocking copy".split()
)


def _fits(m: Trace, param: Param, value: Value) -> bool:
    if isinstance(value, Const):
        return param.kind == "other" or value.value is None
    if isinstance(value, Unknown):
        return param.kind == "other" or not value.scalar
    if isinstance(value, Tensor):
        return param.kind != "other"
    if isinstance(value, (List, Tuple)):
        return param.kind == "other" or (param.kind == "tensors" and not _holds_numbers(m, value))
    return True


def _is_number(m: Trace, param: Param, value: Value) -> bool:
    """Whether a tensor may be given for a number. PyTorch refuses one that requires grad."""
    return isinstance(value, Tensor) and param.kind == "other" and param.optional and m.grad(value) is not Grad.YES


def _holds_numbers(m: Trace, value: List | Tuple) -> bool:
    """Whether a sequence surely holds no tensors: ``torch._foreach_lerp(xs, ys, (0.1, 0.2))``."""
    items = value.items if isinstance(value, Tuple) else m.state.get(value).items
    return bool(items) and all(isinstance(item, Const) and item.value is not None for item in items)
