"""What torch does to tensors: one operator applied to values, by way of the facts. Never joins, knows no syntax."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from ..torchfacts import ops as facts
from . import kept, stale
from .domain import (
    ALWAYS,
    NONE,
    Array,
    Cell,
    CellState,
    Choice,
    Const,
    Dict,
    Grad,
    List,
    Node,
    Object,
    Ref,
    Saved,
    Slice,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    phi,
)
from .machine import Machine, Method, Site, constant, is_number

Bindings = dict[str, Value]

_OUTPUTS = {"values": 0, "eigenvalues": 0, "Q": 0, "U": 0, "L": 0, "sign": 0, "solution": 0}
_OUTPUTS |= {"indices": 1, "eigenvectors": 1, "R": 1, "S": 1, "logabsdet": 1, "V": 2, "Vh": 2}
_TRANSPOSING = frozenset("transpose t permute T mT H mH swapaxes swapdims movedim moveaxis adjoint".split())
_COPYING_STRIDED = frozenset("reshape contiguous flatten reshape_as view_as_real".split())
_FILLING = frozenset("fill zero masked_fill index_fill fill_ zero_ masked_fill_ index_fill_ index_put_".split())
"""In-place operators that torch lets write to expanded memory."""
_MASKED = frozenset({"masked_fill_", "index_put_"})
"""Those of them that change every row of it, where one was meant; torch warns."""
_PRODUCTS = frozenset({"einsum", "multi_dot", "chain_matmul"})
"""Operators over a list that save an element for the gradients of the others."""
_BLANK = frozenset(f"{name}{like}" for name in ("zeros", "ones", "empty", "full") for like in ("", "_like"))
_BLANK |= {f"new_{name}" for name in _BLANK}
"""Operators that make memory for values that are still to come."""
_FLOAT = frozenset({"torch.float", "torch.float32", "torch.FloatTensor", "torch.get_default_dtype"})
_INTEGERS = frozenset(f"torch.{name}" for name in "bool uint8 int8 int16 int32 int64 short int long".split())
SAVES = 64
"""The most saves of one memory that are told apart: the first of them speak for the others."""
_SAME_METADATA = frozenset({"shape", "dtype", "device", "ndim", "is_leaf", "layout", "names", "itemsize", "nbytes"})
_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_COMPUTED = _VIEWS | _SAME_METADATA | {"data", "grad"}
"""Attributes that are no methods."""


def fresh(grad: Grad = Grad.NO, node: Node | None = None, leaf: bool = True) -> Tensor:
    """A tensor with memory of its own."""
    return Tensor(cell=Cell(grad, node, leaf))


def view(m: Machine, base: Tensor, kind: str = "view", contiguous: bool = True) -> Tensor:
    """A view of ``base``; the strictest kind of view wins when views are made of views."""
    cell = base.cell
    if m.grad_mode:
        kind = base.view if base.view in ("views", "expand", "no_grad", "hook", "custom", "inference") else kind
    elif base.view == "inference":
        kind, cell = base.view, Cell()
    else:
        kind, cell = "expand" if "expand" in (base.view, kind) else "no_grad", Cell(base=base.cell)
    part = Tensor(base.storage, cell, kind, base.contiguous and contiguous and kind != "expand")
    part.origin = "cast" if base.origin == "cast" else ""
    part.time = base.time
    if kind == "views" and not part.time:
        part.time = m.tick()
    if base in m.batched:
        m.batched.add(part)
    return part


def detached(m: Machine, base: Tensor) -> Tensor:
    """``detach()``: the same memory and version counter, no history."""
    result = Tensor(base.storage, Cell(), base.view, base.contiguous)
    result.origin, result.time = base.origin, m.tick()
    return result


def data(m: Machine, base: Tensor) -> Tensor:
    """``.data``: the same memory, a version counter of its own."""
    result = Tensor(Storage(hidden=base.storage), Cell(base=base.cell), base.view, base.contiguous)
    result.time = m.tick()
    if base.origin in ("maybe", "cast"):
        result.origin = base.origin
    return result


def made_of(m: Machine, array: Unknown) -> Tensor | None:
    """The tensor over the memory of an array that something else made: ``torch.from_numpy(array)``."""
    found = m.see(m.symbols.get(("memory", array), NONE))
    return found if isinstance(found, Tensor) else None


def hooked(m: Machine, value: Value) -> Value:
    """What goes into, or comes out of, a module with a full backward hook: a view that may not be written in place."""
    value = m.see(value)
    if isinstance(value, Tuple):
        return Tuple(tuple(hooked(m, item) for item in value.items))
    if isinstance(value, Tensor) and m.grad(value) is Grad.YES:
        node = Node("BackwardHookFunction", (), m.history(value))
        return Tensor(value.storage, Cell(Grad.YES, node, False), "hook", value.contiguous)
    return value


def unknown_call(m: Machine, *values: Value, grad: Grad = Grad.NO) -> Unknown:
    """The result of code that this file does not show: whatever it is, it may depend on all that went in."""
    nodes = m.history(*values)
    for value in values:
        grad = max(grad, reach(m, value))
    return Unknown(grad, Node("call", (), nodes) if nodes else None)


def reach(m: Machine, value: Value) -> Grad:
    """The most that anything in ``value`` requires grad."""
    return max((m.grad(item) for item in _parts(m, value)), default=Grad.NO)


def _parts(m: Machine, value: Value) -> Iterator[Value]:
    """What a value is, or what stands in it, in order; each sequence once, for it may stand in itself."""
    value = m.see(value)
    if not isinstance(value, (Tuple, List, Choice)):
        yield value
        return
    todo: list[Value] = [value]
    seen: dict[int, Value] = {}
    while todo:
        item = m.see(todo.pop())
        if isinstance(item, Choice):
            todo += [option for _, option in reversed(item.options)]
        elif not isinstance(item, (Tuple, List)):
            yield item
        elif id(item) not in seen:
            seen[id(item)] = item
            todo += reversed(item.items if isinstance(item, Tuple) else m.state.get(item).items)


# -- applying an operator


def apply(
    m: Machine, ops: tuple[facts.Op, ...], args: list[Value], kwargs: Bindings, site: Site, form: str = "op_"
) -> Value:
    """Call an operator, with every combination of what its arguments may be."""
    names = list(kwargs)

    def call(values: list[Value]) -> Value:
        positional, named = values[: len(args)], dict(zip(names, values[len(args) :], strict=True))
        return _apply(m, ops, positional, named, site, form)

    return m.split([*args, *kwargs.values()], call)


def _apply(m: Machine, ops: tuple[facts.Op, ...], args: list[Value], kwargs: Bindings, site: Site, form: str) -> Value:
    out = kwargs.pop("out", NONE)
    matches = ((op, bound) for op in ops if (bound := bind(m, op, args, kwargs)) is not None)
    match = next(matches, None)
    if match is None:
        return unknown_call(m, *args, *kwargs.values())
    op, bound = match
    if op.inplace and constant(bound.get("inplace", NONE)) is True:
        op = facts.lookup(op.inplace)[0]
        run(m, op, bound, site, "inplace")
        return m.see(bound[op.writes[0]])
    if _passes_through(op, bound):
        return m.see(bound[op.params[0].name])
    result = run(m, op, bound, site, form)
    if "requires_grad" in kwargs and constant(kwargs["requires_grad"]) is True and isinstance(result, Tensor):
        m.state.put(result.cell, CellState(Grad.YES, None, True))
    if out != NONE and op.name in _MIXING and m.alike is None:
        _in_its_way(m, op, m.see(out), bound, site)
    return _into(m, out, result, site) if out != NONE else result


def _passes_through(op: facts.Op, bound: Bindings) -> bool:
    """Dropout that is switched off hands back its very input."""
    if "dropout" not in op.name:
        return False
    off = bound.get("training", bound.get("train", NONE))
    return off == Const(False) or bound.get("p", NONE) in (Const(0), Const(0.0))


_MIXING = frozenset("mm bmm mv matmul addmm addmv addbmm baddbmm".split())
"""Operators that make each element of many of every operand: ``out`` may be none of them, and torch never asks."""


def _in_its_way(m: Machine, op: facts.Op, out: Value, bound: Bindings, site: Site) -> None:
    """``torch.mm(x, y, out=x)`` reads elements of ``x`` that it has overwritten; measured, with what is only added."""
    added = "input" if op.name.startswith(("add", "baddbmm")) else ""
    factors = [value for name, value in bound.items() if name != added]
    read = [tensor for value in factors for tensor in tensors_in(m, value)]
    if isinstance(out, Tensor) and any(
        tensor is out or (tensor.storage is out.storage and "" in (tensor.view, out.view)) for tensor in read
    ):
        m.refuse("shift", site)


def _into(m: Machine, out: Value, result: Value, site: Site) -> Value:
    """``out=``: the result is written into a tensor that exists."""
    out = m.promote(out)
    targets = list(out.items) if isinstance(out, Tuple) else [out]
    for target in targets:
        target = m.promote(target)
        if isinstance(target, Tensor):
            if m.grad_mode and Grad.YES in (m.grad(target), *(m.grad(t) for t in tensors_in(m, result))):
                m.refuse("out", site)
            else:
                m.write(target.storage, "out", site)
    return out


def bind(m: Machine, op: facts.Op, args: list[Value], kwargs: Bindings) -> Bindings | None:
    """The arguments by parameter name, or None where they cannot be meant for this overload."""
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
        elif not _fits(m, param, bound[param.name]):
            return None
    return bound


_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}
_OPTIONS = frozenset(
    "dtype device layout requires_grad pin_memory memory_format generator out non_blocking copy".split()
)


def _fits(m: Machine, param: facts.Param, value: Value) -> bool:
    if isinstance(value, Const):
        return param.kind == "other" or value.value is None
    if isinstance(value, Unknown):
        return param.kind == "other" or not value.scalar
    if isinstance(value, Tensor):
        return param.kind != "other"
    if isinstance(value, (List, Tuple)):
        return param.kind != "tensor"
    return True


_COMPARING = frozenset({"sub", "rsub", "eq", "ne", "equal", "allclose", "isclose", "dist", "mse_loss", "l1_loss"})
"""Operators that ask how two tensors differ."""


def run(m: Machine, op: facts.Op, bound: Bindings, site: Site, form: str) -> Value:
    """One operator runs: it saves, overwrites and returns."""
    operands: dict[str, list[Tensor]] = {}
    extra: list[Unknown] = []
    for position, param in enumerate(op.params):
        if param.kind == "other" or (value := bound.get(param.name)) is None:
            continue
        value = m.promote(value) if param.kind == "tensor" and position == 0 else m.see(value)
        if type(value) is Tensor:
            operands[param.name] = [value]
            continue
        operands[param.name] = list(tensors_in(m, value))
        if isinstance(value, List):
            for tensor in operands[param.name]:
                stale.taken(m, value, tensor)
        extra.extend(_unknowns(m, value))
    if op.name in _COMPARING and m.updates:
        both = [tensor for name in ("self", "input", "other", "target") for tensor in operands.get(name, ())]
        if len(both) == 2:
            kept.compared(m, both[0], both[1])
    if op.name in ("eq", "ne") and _whole_number(bound.get("other", NONE)):
        for tensor in operands.get("self", ()):
            _hold_whole_numbers(m, tensor)
    recording = m.grad_mode and (not op.outs or any(out.differentiable for out in op.outs))
    grads = {name: max(map(m.grad, tensors), default=Grad.NO) for name, tensors in operands.items()}
    for value in extra if recording else ():
        grads["*unknown"] = max(grads.get("*unknown", Grad.NO), m.grad(value))
    grad = max(grads.values(), default=Grad.NO) if recording else Grad.NO

    given = [tensor for tensors in operands.values() for tensor in tensors]
    saves: list[Saved] = []
    needs: frozenset[Cell] = frozenset()
    parents: tuple[Node, ...] = ()
    requiring = {name for name, which in grads.items() if which}
    if grad:
        needs = needs if "*unknown" in requiring else frozenset(t.cell for t in given if m.grad(t))
        nodes = [*(m.cell(tensor).node for tensor in given), *(value.node for value in extra)]
        parents = tuple(dict.fromkeys(node for node in nodes if node is not None))
        for save in op.saves:
            if certain(op, save, bound) and not requiring.isdisjoint(save.needs):
                for index, tensor in enumerate(operands.get(save.slot, ())):
                    others = operands[save.slot][:index] + operands[save.slot][index + 1 :]
                    if op.name in _PRODUCTS and not any(m.grad(other) for other in others):
                        continue
                    saves.append(keep(m, op.name, save.slot, tensor.storage, site, needs=needs))
        for tensor in given:
            stale.differentiated(m, tensor)
    written = [tensor for name in op.writes for tensor in operands.get(name, ())]
    if op.name == "set_" and m.borrowed:
        written = []  # it gives a tensor other memory: a reversible layer brings back an input that it had freed
    if op.name == "copy_":
        for tensor, source in zip(written, operands.get("src", ()), strict=False):
            kept.brought_back(m, tensor, source)
    refused = False
    for tensor in written:
        if op.name in _FILLING and tensor.view == "expand":
            m.write(tensor.storage, form, site)
            if op.name in _MASKED:
                m.refuse("expand" if Grad.YES in (m.grad(tensor), grad) else "expanded", site)
        elif any(overlaps(tensor, other) for other in given):
            m.refuse("overlap", site)
        else:
            sources = [other for name, found in operands.items() if name not in op.writes for other in found]
            refused = _unbatched(m, tensor, sources, site) or write(m, tensor, form, site, grad) or refused
            if tensor.storage.hidden is not None:
                stale.cut_off(m, tensor, sources, site)
    results = [_result(m, op, out, operands, bound) for out in op.outs]
    if m.alike is not None and len(op.outs) == 1 and op.outs[0].kind == "fresh":
        results = [_alike(m, op, results[0], grad)]
    if m.batched and not m.batched.isdisjoint(given):
        m.batched.update(tensor for result in results for tensor in tensors_in(m, result))
    if grad:
        for save in op.saves:
            if save.slot.startswith("result") and save.sure and not requiring.isdisjoint(save.needs):
                index = int(save.slot[6:] or 0)
                for tensor in tensors_in(m, results[index]) if index < len(results) else ():
                    saves.append(keep(m, op.name, "result", tensor.storage, site, needs=needs))
        node = Node(op.name, tuple(saves), parents, m.state.guard() if m.alike is not None else ALWAYS)
        if op.writes and not refused:
            returned = {out.of for out in op.outs if out.kind == "same"}
            changed = [t for name in op.writes if name in returned or not op.outs for t in operands.get(name, ())]
            for tensor in changed:
                m.state.put(tensor.cell, CellState(max(m.cell(tensor).grad, grad), node, False))
        shared = {tensor.cell for tensor in given}
        for out, result in zip(op.outs, results, strict=True):
            if out.differentiable and out.kind != "detached" and not _to_integers(op, bound):
                for tensor in tensors_in(m, result):
                    if tensor.cell not in shared:
                        tensor.cell.initial = CellState(grad, phi((tensor.cell.initial.node, node)), False)
    return results[0] if len(results) == 1 else Tuple(tuple(results)) if results else NONE


def _alike(m: Machine, op: facts.Op, made: Value, grad: Grad) -> Value:
    """The tensor that stands for the result of an operator, if it was given several values; or ``made`` itself."""
    if m.alike is None or not isinstance(made, Tensor):
        return made
    m.alike.number += 1
    key = (m.alike.number, op.name, grad, made.dims, made.origin, made.lead, made.view, made.contiguous)
    return m.alike.made.setdefault(key, made)


def _whole_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int and value.value != 0


def _hold_whole_numbers(m: Machine, tensor: Tensor) -> None:
    """Labels, ids and masks are what is compared with a whole number; if nothing says otherwise, it has no gradient."""
    state = m.cell(tensor)
    if state.grad is Grad.MAYBE:
        m.state.put(tensor.cell, CellState(Grad.NO, None, state.leaf))


def _unknowns(m: Machine, value: Value) -> list[Unknown]:
    """The unknown values that are, or stand in, a value."""
    value = m.see(value)
    if isinstance(value, Unknown):
        return [value]
    items = m.state.get(value).items if isinstance(value, List) else value.items if isinstance(value, Tuple) else ()
    return [found for item in items if isinstance(found := m.see(item), Unknown)]


def tensors_in(m: Machine, value: Value) -> Iterator[Tensor]:
    """The tensors that are, or stand in, a value."""
    return (item for item in _parts(m, value) if isinstance(item, Tensor))


def _result(m: Machine, op: facts.Op, out: facts.Out, operands: dict[str, list[Tensor]], bound: Bindings) -> Value:
    if not out.many:
        return _single(m, op, out, operands, bound)
    given = operands.get(out.of or "", [])
    if len(given) > 1:  # one for each
        return List([_single(m, op, out, {out.of or "": [tensor]}, bound) for tensor in given], open=True)
    return List([_single(m, op, out, operands, bound), _single(m, op, out, operands, bound)], open=True)


def _single(m: Machine, op: facts.Op, out: facts.Out, operands: dict[str, list[Tensor]], bound: Bindings) -> Tensor:
    bases = operands.get(out.of or "", [])
    if out.kind == "fresh" or not bases:
        made = fresh()
        made.dims, made.origin = _dims(m, op, operands, bound), "blank" if op.name in _BLANK else "op"
        made.lead = _lead(m, None, bound)
        if m.state.modes.get("inference"):
            made.view = "inference"
        return made
    base = bases[0]
    if out.kind == "same":
        return base
    if out.kind == "detached":
        return detached(m, base)
    if out.kind == "unsafe":
        return Tensor(Storage(), Cell(), "view")
    if out.kind == "maybe":
        if (op.name in _COPYING_STRIDED and not base.contiguous) or _converts(op, bound):
            return fresh()
        same = view(m, base, base.view)
        same.origin = "cast" if op.name in ("to", "type", "type_as", "float") else "maybe"
        same.dims = base.dims if op.name not in _COPYING_STRIDED else None
        sized = _lead(m, None, bound) if op.name == "reshape" else base.lead
        same.lead = "one" if sized == "one" else ""
        return same
    kind = out.kind if out.kind in ("views", "expand") else "view"
    if op.name == "broadcast_tensors" and base.lead != "one" and base.dims != 0:
        kind = "view"  # it may have the full size
    part = view(m, base, kind, op.name not in _TRANSPOSING)
    sizes = _sizes(m, bound)
    if kind == "expand":
        part.lead = _lead(m, base, bound)
        stays = sizes and sizes[-1] in (Const(1), Const(-1))
        part.tail = "shared" if base.tail == "one" and not stays else base.tail
    elif op.name == "view":
        part.lead, part.tail = _lead(m, None, bound), "one" if sizes and sizes[-1] == Const(1) else ""
    elif op.name == "unsqueeze" and bound["dim"] in (Const(0), Const(-1)):
        part.lead, part.tail = ("one", base.tail) if bound["dim"] == Const(0) else (base.lead, "one")
    elif op.name == "unfold" and _overlap(m, bound):
        part.lead = "windows"
    return part


def _overlap(m: Machine, bound: Bindings) -> bool:
    """Whether windows of the size that is given, or most likely given, overlap when they are so many steps apart."""
    given = (m.see(bound.get(name, NONE)) for name in ("size", "step"))
    known = [value.default if isinstance(value, Unknown) and value.default is not None else value for value in given]
    size, step = map(constant, known)
    return isinstance(size, int) and isinstance(step, int) and step < size


def _sizes(m: Machine, bound: Bindings) -> tuple[Value, ...]:
    """The sizes that an operator is given, where it is known how many."""
    given = bound.get("size", bound.get("shape"))
    if given is None:
        return ()
    size = m.see(given)
    if isinstance(size, List) and not m.state.get(size).open:
        return tuple(map(m.see, m.state.get(size).items))
    return tuple(map(m.see, size.items)) if isinstance(size, Tuple) else ()


def _lead(m: Machine, expanded: Tensor | None, bound: Bindings) -> str:
    """What is known of the first dimension of a new tensor, or of one that was expanded."""
    sizes = _sizes(m, bound)
    if expanded is None or not sizes or sizes[0] == Const(1):
        return "one" if sizes and sizes[0] == Const(1) else ""
    grown = expanded.dims is not None and len(sizes) > expanded.dims
    return "shared" if grown or (expanded.lead == "one" and sizes[0] != Const(-1)) else ""


def _dims(m: Machine, op: facts.Op, operands: dict[str, list[Tensor]], bound: Bindings) -> int | None:
    """The number of dimensions of a new tensor, as far as it tells an index from a list of indices."""
    if op.name in _SEQUENCES:
        return 1
    if op.name in _SIZED and (sizes := _sizes(m, bound)):
        return len(sizes)
    if op.name in ("tensor", "as_tensor") and "data" in bound:
        return _depth(m, bound["data"])
    if op.name in _CONVERSIONS:
        return next((tensor.dims for tensor in operands.get("self", ())), None)
    return None


_SEQUENCES = frozenset({"arange", "linspace", "randperm", "range"})
_SIZED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn"})
_CONVERSIONS = frozenset({"clone", "to", "long", "int", "contiguous"})


def _depth(m: Machine, value: Value) -> int | None:
    """How deep numbers are nested in lists."""
    value = m.see(value)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        return 0
    if isinstance(value, (List, Tuple)):
        items = value.items if isinstance(value, Tuple) else m.state.get(value).items
        inner = _depth(m, items[0]) if items else None
        return None if inner is None else inner + 1
    return None


def _converts(op: facts.Op, bound: Bindings) -> bool:
    """Whether a conversion is to a type that tensors do not have from the start, and so copies."""
    if op.name in ("double", "half", "bfloat16") or bound.get("copy", NONE) == Const(True):
        return True
    names = [value.name for value in bound.values() if isinstance(value, Ref)]
    return op.name in ("to", "type", "type_as") and any(
        name.startswith("torch.") and name not in _FLOAT for name in names
    )


def _to_integers(op: facts.Op, bound: Bindings) -> bool:
    """Whether a conversion is to a type that has no gradient."""
    return op.name in ("to", "type") and any(
        isinstance(value, Ref) and value.name in _INTEGERS for value in bound.values()
    )


def certain(op: facts.Op, save: facts.Save, bound: Bindings) -> bool:
    """Whether this call makes this save; ``F.pad`` makes it in two of its modes."""
    return save.sure or (op.name == "pad" and bound.get("mode", NONE) in (Const("reflect"), Const("replicate")))


def overlaps(tensor: Tensor, other: Tensor) -> bool:
    """Whether a write to ``tensor`` reads the same memory in another order: ``m += m.T``.

    Expanded memory is left alone: what was expanded may be another part of it.
    """
    same = other is not tensor and other.storage is tensor.storage and other.view != "expand"
    return same and other.contiguous != tensor.contiguous


def means_in_place(site: Site, kwargs: Bindings) -> bool:
    """Whether a call looks as if it overwrote its argument."""
    called = getattr(getattr(site.expression, "func", None), "attr", getattr(site.expression, "func", None))
    return constant(kwargs.get("inplace", NONE)) is True or str(getattr(called, "value", "")).endswith("_")


def keep(
    m: Machine,
    op: str,
    slot: str,
    storage: Storage,
    site: Site,
    possible: bool = False,
    needs: frozenset[Cell] = frozenset(),
) -> Saved:
    """Autograd keeps a tensor for the backward pass, where one of ``needs`` requires grad."""
    packing = m.state.modes.get("packing")
    saved = Saved(op, slot, storage, site, m.state.guard(), tuple(m.calling), packing == "share", possible, needs)
    held = m.state.get(storage)
    if packing != "copy" and len(held) < SAVES:
        m.state.put(storage, held | {saved})
    return saved


def write(m: Machine, tensor: Tensor, form: str, site: Site, grad: Grad = Grad.NO, whole: bool = True) -> bool:
    """A tensor is overwritten in place, from values that require grad as ``grad`` says.

    True where torch refuses: that is noted, and the tensor stays as it is. ``whole`` is False where only one part of it
    is written.
    """
    refused = refusal(m, tensor, grad, form, whole)
    if "style" in m.extra:
        _style(m, tensor, form, site)
    if refused or tensor.lead == "row" or (tensor.lead == "windows" and _adds_up(site)):
        m.refuse(refused or "expanded", site)
    if not refused:
        if tensor.origin != "cast" or tensor.storage not in m.borrowed:
            m.write(tensor.storage, form, site)
        stale.note(m, tensor, form, site)
        stale.rescale(m, tensor, site)
    return bool(refused)


def _adds_up(site: Site) -> bool:
    """Whether a write done twice to one element is not the same as done once: ``x *= 2``, ``x.add_(1)``."""
    node = site.expression
    called = node.func if isinstance(node, cst.Call) else None
    name = called.attr.value if isinstance(called, cst.Attribute) else ""
    return isinstance(node, cst.AugAssign) or name in ("add_", "sub_", "mul_", "div_", "square_")


def _style(m: Machine, tensor: Tensor, form: str, site: Site) -> None:
    """What a team may want to ban, whether it is a hazard or not."""
    if tensor in m.batched or any(function.compiled for function in m.active):
        m.refuse("style compiled", site)
    elif form in ("op_", "inplace") or (form == "augmented" and m.grad(tensor)):
        m.refuse(f"style {form}", site)


def _unbatched(m: Machine, tensor: Tensor, sources: Iterable[Tensor], site: Site) -> bool:
    """Whether batched values are written to a tensor that has no place for the batch, which ``vmap`` refuses."""
    if not m.batched or tensor in m.batched or m.batched.isdisjoint(sources):
        return False
    m.refuse("vmap", site)
    return True


def refusal(m: Machine, tensor: Tensor, grad: Grad, form: str, whole: bool) -> str:
    """Why torch refuses this in-place write, or an empty string."""
    state = m.cell(tensor)
    if tensor.view == "inference" and not m.state.modes.get("inference"):
        return "inference"
    if tensor.view == "expand" and whole:  # a masked assignment fails in the backward only
        return "expand" if form != "subscript" or Grad.YES in (state.grad, grad) else ""
    if not m.grad_mode:
        return ""
    if tensor.view in ("views", "hook", "custom") and max(state.grad, grad) is Grad.YES:
        return tensor.view
    if state.grad is Grad.YES and state.leaf and state.node is None and tensor.storage.hidden is None:
        return "leaf view" if tensor.view or not whole else "leaf"
    base = tensor.cell.base
    if tensor.view == "no_grad" and Grad.YES in (grad, m.state.get(base).grad if base is not None else Grad.NO):
        return "no_grad"
    return ""


# -- methods, attributes and subscripts of tensors


def method(m: Machine, tensor: Tensor, name: str, args: list[Value], kwargs: Bindings, site: Site) -> Value:
    """Call a method of a tensor."""
    if name == "backward":
        backward(m, [tensor], kwargs)
        return NONE
    if name == "detach_":
        if tensor.view:
            m.refuse("detach", site)
        m.state.put(tensor.cell, CellState(Grad.NO, None, True))
        return tensor
    if name == "requires_grad_":
        on = constant(args[0] if args else kwargs.get("requires_grad", NONE)) is not False
        require_grad(m, tensor, on)
        return tensor
    if name == "numpy":
        return Array(tensor.storage, tensor)
    if name in ("__array__", "tolist"):
        return Unknown(scalar=True)
    if name in facts.no_bump_methods():
        return tensor
    if name in ("register_hook", "retain_grad"):
        return NONE
    if name in facts.scalar_methods():
        return m.symbol(tensor, name, *args, scalar=True) if name in ("size", "dim") else Unknown(scalar=True)
    if name == "cuda" or (name == "clone"):
        return apply(m, facts.lookup("Tensor.clone"), [tensor], {}, site)
    ops = facts.lookup(f"Tensor.{name}")
    if ops:
        return apply(m, ops, [tensor, *args], kwargs, site)
    return unknown_call(m, tensor, *args, *kwargs.values())


def backward(m: Machine, outputs: list[Value], kwargs: Bindings) -> None:
    """A backward pass runs from ``outputs``, and frees what their graph had saved unless it is asked to keep it."""
    m.want(*outputs)
    kept.updated(m, None)
    m.state.set(m.state.modes, "backward", True)
    if any(constant(kwargs.get(name, NONE)) is True for name in ("retain_graph", "create_graph")):
        m.repeat(*outputs)
    else:
        m.release(*outputs)


def require_grad(m: Machine, tensor: Tensor, on: bool) -> None:
    state = m.cell(tensor)
    m.state.set(m.questions, (tensor.cell,), frozenset())  # what was asked before says nothing of it now
    m.state.put(tensor.cell, CellState(Grad.YES if on else Grad.NO, state.node if on else None, state.node is None))


def is_method(name: str) -> bool:
    """Whether tensors have a method of this name that computes a tensor."""
    return name in facts.tensor_methods() and name not in facts.scalar_methods() and name not in _COMPUTED


def attribute(m: Machine, tensor: Tensor, name: str, site: Site) -> Value:
    """Read an attribute of a tensor."""
    if name == "data":
        return data(m, tensor)
    if name == "grad":
        grad = m.promote(m.symbol(tensor.cell, "grad"))
        return grad
    if name == "is_leaf" and m.grad(tensor) is Grad.YES:
        return Const(m.cell(tensor).leaf)
    if name in _SAME_METADATA:
        return m.symbol(tensor, name, scalar=True)
    if name in _VIEWS:
        return apply(m, facts.lookup(f"Tensor.{name}"), [tensor], {}, site)
    if name in facts.tensor_methods():
        if name == "requires_grad":
            return m.ask(tensor.cell)
        if name in facts.scalar_methods() and name in ("is_cuda", "grad_fn", "is_sparse"):
            return m.symbol(tensor.cell, name, scalar=True)
        return Method(tensor, name, site.node)
    if "style" in m.extra and name[-1] == "_" != name[-2:-1]:
        m.refuse("style missing", site)
    return Unknown()


def output(value: Tuple, name: str) -> Value:
    """A named output of an operator: ``x.max(1).values``."""
    index = _OUTPUTS.get(name)
    return value.items[index] if index is not None and index < len(value.items) else Unknown()


def is_advanced(m: Machine, index: Value) -> bool:
    """Whether indexing by ``index`` copies; what is not known to view is taken to copy."""
    index = m.see(index)
    if isinstance(index, Tuple):
        return any(is_advanced(m, item) for item in index.items)
    if isinstance(index, Const):
        return isinstance(index.value, (bool, str))
    if isinstance(index, Unknown):
        return not (index.scalar or index.positive)
    if isinstance(index, Tensor):
        return index.dims != 0  # a single number selects, as an int does
    return not isinstance(index, Slice)


def subscript(m: Machine, tensor: Tensor, index: Value, site: Site) -> Value:
    """``x[index]``: a view, or a copy where the index is a tensor or a list."""
    if not is_advanced(m, index):
        part = view(m, tensor)
        if tensor.dims is not None and isinstance(index, (Const, Unknown, Tensor)) and index != Const(...):
            part.dims = tensor.dims - 1
        part.lead, part.tail = _lead_of_part(m, tensor, index), _tail_of_part(m, tensor, index)
        # whether a part of expanded memory still overlaps itself depends on the dimension
        if part.view == "expand" and "shared" not in (part.lead, part.tail):
            part.view = "view"
        part.spelled = site.expression
        return part
    return _index_node(m, tensor, [], index, site)


def _lead_of_part(m: Machine, tensor: Tensor, index: Value) -> str:
    """What is known of the first dimension of a part of a tensor, or that it is one of several rows in one memory."""
    first = m.see(index.items[0]) if isinstance(index, Tuple) and index.items else index
    if first == NONE:
        return "one"
    if isinstance(first, Slice) and first.lower == first.upper == NONE:
        return tensor.lead
    number = first.dims == 0 if isinstance(first, Tensor) else is_number(first)
    return "row" if tensor.lead == "row" or (tensor.lead == "shared" and number) else ""


def _tail_of_part(m: Machine, tensor: Tensor, index: Value) -> str:
    """What is known of the last dimension of a part of a tensor."""
    last = m.see(index.items[-1]) if isinstance(index, Tuple) and index.items else index
    if isinstance(index, Tuple) and last != Const(...):
        return "one" if last == NONE else ""
    return tensor.tail if last in (NONE, Const(...)) or isinstance(last, Slice) or is_number(last) else ""


def _index_node(m: Machine, tensor: Tensor, values: list[Value], index: Value, site: Site) -> Tensor:
    """The copy that advanced indexing makes; the index tensors themselves are saved."""
    result = fresh()
    grad = max([m.grad(tensor), *(m.grad(m.see(v)) for v in values)]) if m.grad_mode else Grad.NO
    if grad:
        saves = _keep_indices(m, index, grad, site)
        m.state.put(result.cell, CellState(grad, Node("index", saves, m.history(tensor, *values)), False))
    return result


def _keep_indices(m: Machine, index: Value, grad: Grad, site: Site) -> tuple[Saved, ...]:
    """Indexing saves its masks and index tensors. What is indexed must surely require grad: it often holds integers."""
    if grad is not Grad.YES:
        return ()
    return tuple(keep(m, "indexing", "index", tensor.storage, site) for tensor in tensors_in(m, index))


def assign_subscript(m: Machine, tensor: Tensor, index: Value, value: Value, site: Site, form: str) -> None:
    """``x[index] = value``: the whole storage counts as overwritten."""
    if isinstance(constant(index), str):
        return  # a dictionary that was taken for a tensor
    value = m.see(value)
    copies = is_advanced(m, index)
    whole = copies or index == Const(...) or (isinstance(index, Slice) and index.lower == index.upper == NONE)
    inside = [other for other in tensors_in(m, index) if other.storage is tensor.storage]
    if inside:
        if all(one.origin not in ("maybe", "cast") for one in (tensor, *inside)):
            m.refuse("overlap", site)
        return
    lead = "" if copies else _lead_of_part(m, tensor, index)
    if tensor.view == "expand" and not copies and (whole or "shared" in (lead, _tail_of_part(m, tensor, index))):
        m.refuse("expand", site)
        return
    sources = (source for given in (value, index) for source in tensors_in(m, given))
    refused = _unbatched(m, tensor, sources, site) or write(m, tensor, form, site, reach(m, value), whole)
    if not refused and ((copies and tensor.view == "expand") or lead == "row"):
        m.refuse("expanded", site)
    if m.grad_mode and not refused:
        state = m.cell(tensor)
        grad = max(state.grad, reach(m, value))
        if grad:
            saves = _keep_indices(m, index, grad, site) if copies else ()
            node = Node("setitem", saves, m.history(tensor, value))
            m.state.put(tensor.cell, CellState(grad, node, False))


def element(m: Machine, tensor: Tensor) -> Tensor:
    """What iteration over a tensor yields: one of several views, which may not be written."""
    part = view(m, tensor, "views")
    part.dims = tensor.dims - 1 if tensor.dims else None
    return part


def describe(m: Machine, value: Value) -> str:
    """The abstract state of a value in words, for ``reveal`` in tests."""
    value = m.see(value)
    if isinstance(value, Choice):
        return " or ".join(sorted({describe(m, option) for guard, option in value.options if m.state.possible(guard)}))
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, (Tuple, List)):
        items = value.items if isinstance(value, Tuple) else m.state.get(value).items
        return f"[{', '.join(describe(m, item) for item in items)}]"
    if isinstance(value, Unknown):
        return "number" if value.scalar else "unknown"
    if isinstance(value, (Dict, Object, Ref)):
        return type(value).__name__.lower()
    if not isinstance(value, Tensor):
        return type(value).__name__.lower()
    state = m.cell(value)
    words = []
    saves = sorted({f"{saved.op}:{saved.slot}" for saved in m.held(value.storage)})
    if saves:
        words.append(f"saved[{', '.join(saves)}]")
    if value.view:
        words.append(value.view)
    if value.storage.hidden is not None:
        words.append("data")
    words.append({Grad.NO: "no grad", Grad.MAYBE: "maybe grad", Grad.YES: "grad"}[m.grad(value)])
    if state.leaf and m.grad(value):
        words.append("leaf")
    return " ".join(words)
