"""Functions of PyTorch that steer autograd: grad modes, gradients, hooks of tensors, saved tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..heap.autograd import graph
from ..heap.state import Declared, each_once
from ..heap.values import (
    NONE,
    Cell,
    Const,
    Grad,
    List,
    Node,
    Object,
    Ref,
    Source,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    constant,
)
from ..program.site import Site
from ..trace import events, holdings
from ..trace.callables import Bound, GradMode, Packing
from ..trace.frames import Function
from ..trace.trace import Trace
from . import gradients, tensors
from .registry import Call, model, package

_ROOMS = ("torch", "torch.autograd", "torch.autograd.grad_mode")
_SWITCHES = {"no_grad": False, "inference_mode": False, "enable_grad": True}
_MODES = {f"{room}.{name}": on for room in _ROOMS for name, on in _SWITCHES.items()}
_SETTING = tuple(f"{room}.set_grad_enabled" for room in _ROOMS)
_BELOW_AUTOGRAD = frozenset({"torch.library.custom_op", "torch.library.triton_op"})
"""Decorators of the implementation of an operator, which autograd does not see."""


def grad_mode_of(name: str) -> GradMode | None:
    """The grad mode that a decorator of this name runs a function in, if that is what it does: ``@torch.no_grad``."""
    on = False if name in _BELOW_AUTOGRAD else _MODES.get(name)
    return None if on is None else GradMode(on, True if name.endswith("inference_mode") else None)


def takes_grad_mode(name: str) -> bool:
    """Whether the arguments of a decorator say the grad mode: ``@torch.set_grad_enabled(False)``."""
    return name in _MODES or name in _SETTING


@model(*_MODES)
def _grad_mode(call: Call) -> Value:
    if call.args and isinstance(call.args[0], (Function, Bound)):
        return call.args[0]
    if not call.name.endswith("inference_mode"):
        return GradMode(_MODES[call.name])
    on = True if call.argument(0, "mode") == NONE else constant(call.argument(0, "mode"))
    return GradMode(on is False, on if isinstance(on, bool) else None)


@model(*_SETTING)
def _set_grad_enabled(call: Call) -> Value:
    on = constant(call.m.see(call.argument(0, "mode"))) is not False
    call.m.state.set(call.m.state.modes, "grad", on)
    return GradMode(on)


@model("torch.is_grad_enabled")
def _is_grad_enabled(call: Call) -> Value:
    return Const(call.m.grad_mode)


@model(
    "torch.jit.is_scripting",
    "torch.jit.is_tracing",
    "torch.onnx.is_in_onnx_export",
    "torch.compiler.is_compiling",
    "torch.compiler.is_exporting",
    "torch._dynamo.is_compiling",
)
def _is_compiling(call: Call) -> Value:
    return Const(False)  # a program runs as it is written


@model("torch.autograd.Variable", "torch.jit.annotate", "typing.cast")
@model("torch.jit.script", "torch.jit.ignore", "torch.jit.unused", "torch.jit.export", "torch.jit.script_if_tracing")
@model("torch.compile", "torch.compiler.disable", "torch._dynamo.disable")
@model("functools.lru_cache", "functools.cache", "functools.wraps")
def _same(call: Call) -> Value:
    """The function or value that is given last; what makes a decorator returns one like it."""
    return call.args[-1] if call.args else Ref("functools.wraps")


@model("torch.nn.Parameter", "torch.nn.parameter.Parameter")
def _parameter(call: Call) -> Value:
    """A leaf over the memory of ``data``."""
    data = call.m.see(call.argument(0, "data"))
    cell = Cell(_asked_for(call.m.see(call.argument(1, "requires_grad"))))
    if isinstance(data, Tensor):
        view = data.view if data.view is View.EXPANDED else View.NONE
        return Tensor(data.storage, cell, view, data.contiguous, dtype=data.dtype)
    return Tensor(cell=cell)


def _asked_for(flag: Value) -> Grad:
    """Whether a parameter requires grad, as ``requires_grad`` says: maybe, if that is unknown and has no default."""
    flag = flag.default if isinstance(flag, Unknown) and flag.default is not None else flag
    if isinstance(flag, Const):
        return Grad.YES if flag == NONE or flag.value else Grad.NO
    return Grad.MAYBE


@model("torch.autograd.backward")
def _backward(call: Call) -> Value:
    gradients.backward(call.m, call.args, call.kwargs, call.site)
    return NONE


@model("torch.autograd.grad")
def _grad(call: Call) -> Value:
    outputs = call.args[:1]
    tensors.backward(call.m, outputs, call.kwargs)
    again = gradients.again(call.kwargs)
    grad, node = (Grad.YES, Node("grad", (), call.m.history(*outputs))) if again else (Grad.NO, None)
    found = [tensors.fresh(grad, node, not again), tensors.fresh(grad, node, not again)]
    if len(call.args) < 3 and "grad_outputs" not in call.kwargs:  # a given one may be what comes back
        for gradient in found:
            gradient.origin = Source.COMPUTED
    return List(found, open=True)


@model("torch.autograd.graph.saved_tensors_hooks")
def _saved_tensors_hooks(call: Call) -> Value | None:
    if not call.args:
        return None
    probe = Tensor()
    packed = call.m.call(call.args[0], [probe], {}, call.site)
    return Packing(any(tensor.storage is probe.storage for tensor in holdings.tensors_in(call.m, packed)))


@model("torch.autograd.graph.save_on_cpu")
def _save_on_cpu(call: Call) -> Value:
    """It moves what is saved, and so copies it, unless it is on the CPU."""
    return Packing(constant(call.argument(0, "pin_memory")) is not True)


@model("torch.autograd.graph.allow_mutation_on_saved_tensors")
def _allow_mutation(call: Call) -> Value:
    return Packing(False)


@package("torch.autograd.graph")
def _unknown(call: Call) -> Value:
    return tensors.unknown_call(call.m, *call.values)


class Hook(NamedTuple):
    """A hook of the backward pass, and what it is called with before the gradient."""

    function: Value
    before: tuple[Value, ...]
    after: tuple[Value, ...]  # the nodes of these tensors run after it
    site: Site


HOOKS: Declared[Node, tuple[Hook, ...]] = Declared(each_once)
"""The hooks that run once a node has computed its gradients: those of tensors, and of modules."""


def register_hook(m: Trace, tensor: Tensor, args: list[Value], site: Site) -> None:
    """``tensor.register_hook(hook)``: the hook runs in the backward pass.

    The gradient of a leaf reaches nobody after its hooks, so only a tensor that has a ``grad_fn`` matters.
    """
    if args and m.grad(tensor) is Grad.YES and m.cell(tensor).node is not None:
        backpropagate(m, Hook(args[0], (), (), site), shared=False)
        watch(m, tensor, Hook(args[0], (), (tensor,), site))


OF_MODULES = ("full_backward", "full_backward_pre")
"""Hooks of the backward pass of a module: after it, with the gradients of its inputs too, and before it."""


def hook_of_module(kind: str, module: Object, hook: Value, after: Sequence[Value], site: Site) -> Hook:
    grad_input = (Tuple((Tensor(),)),) if kind == "full_backward" else ()
    return Hook(hook, (module, *grad_input), tuple(after), site)


def watch(m: Trace, value: Value, hook: Hook) -> None:
    """Let a hook run in each backward through the tensors of a value."""
    hooks = m.state[HOOKS]
    for node in [m.cell(tensor).node for tensor in holdings.tensors_in(m, value) if m.grad(tensor) is Grad.YES]:
        if node is not None:
            m.state.set(hooks, node, (*hooks.get(node, ()), hook))


@events.reach.listen
@events.keep.listen
def run_hooks(m: Trace, values: Sequence[Value]) -> None:
    """Run the hooks of a backward from these values, with the variables as they are now."""
    hooks = m.state[HOOKS]
    nodes = list(graph(*m.history(*values))) if hooks else []
    for node in nodes:
        found = hooks.get(node, ())
        shared = len(found) > 1 or (bool(found) and _hands_on(node, nodes))  # another hook may keep it
        for hook in found:
            backpropagate(m, hook, bool(hook.before) or shared)


_COMPUTING = frozenset({"mul", "div", "neg", "mean"})
"""Operators that compute a gradient of their own for an operand, whether or not they save something for it."""
_ADDING = ("add", "baddbmm", "scatter", "index_add", "index_put", "put")
"""How the names begin of operators that save something, and hand the gradient of the result on to an operand."""


def _hands_on(node: Node, nodes: Sequence[Node]) -> bool:
    """Return whether others may have the gradient that a node is given.

    Autograd adds up the gradients of several readers in a new tensor, and most operators compute one.
    """
    readers = [reader for reader in nodes for parent in reader.parents if parent is node]
    if len(readers) != 1:
        return not readers
    (reader,) = readers
    custom = any(saved.slot == "made" or saved.slot.startswith("ctx.") for saved in reader.saves)
    computes = bool(reader.saves) and not custom and not reader.op.startswith(_ADDING)
    return not (computes or reader.op in _COMPUTING)


def backpropagate(m: Trace, hook: Hook, shared: bool = True) -> None:
    """Call a hook of the backward pass, for what it must not overwrite.

    That is the gradient which it is given, if it is ``shared`` with others, and what was saved by nodes that run after
    it. What it does besides happens at another time, and leaves no trace here.
    """
    if m.backward.readonly:
        return
    mark, grad = m.state.mark(), Tensor()
    m.state.set(m.state.modes, "grad", False)
    m.backward.readonly, m.backward.place = {grad.storage: "grad_output" if shared else ""}, hook.site
    m.call(hook.function, [*hook.before, Tuple((grad,)) if hook.before else grad], {}, hook.site)
    if hook.after:
        events.reach(m, hook.after)
    m.backward.readonly = {}
    m.state.rollback(mark)
