"""What one thread does, seen from the dispatcher and from autograd.

Saved-tensor hooks keep, with every tensor that goes into the graph, its version and the line that is being executed.
They also switch autograd's own check off, so the check is made here: where PyTorch would have raised, this raises. A
dispatch mode sees each operator before it runs; what its schema says it writes goes into the ledger.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from .frames import user_stack
from .ledger import Call, Ledger, Packed, Save
from .report import InplaceHazardWarning
from .stale import StaleReads
from .tensors import detached, fingerprint_of, storage_of, version_of

_COMPILED = (
    "compiled code ran: of what torch.compile made, only the inputs and results are watched, not the tensors and "
    "writes inside of it"
)

#: Saved tensors that their own operator fills after it saved them, without a new version and without harm.
_REFILLED = frozenset({"`running_mean`", "`running_var`", "`noise`"})

TRANSFORMED = "torch.func ran: hooks are not allowed inside, so nothing was watched there; PyTorch's own check was on"

_DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please "
    "use out-of-place `.detach()` instead"
)
"""PyTorch's own error, word for word: under hooks, PyTorch does not look."""

#: Operators that call others to write. Under a dispatch mode those do not count versions (on the CPU; on CUDA they do
#: it themselves), and a hazard would pass unseen: they are counted here.
_UNCOUNTED = ("_foreach_", "split_with_sizes_copy", "unbind_copy")

#: Whether Dynamo can be told cheaply to leave our frames alone, should it meet them in a region that it compiles.
_DYNAMO: Any = torch._C._dynamo.eval_frame
_LEFT_ALONE = hasattr(_DYNAMO, "set_code_exec_strategy")

_APPLY = torch.autograd.Function.apply.__code__
_nodes_made = torch._C._autograd._get_sequence_nr
_modes_active = torch._C._len_torch_dispatch_stack
_local = threading.local()


def current_watch() -> Watch | None:
    """The innermost watch of this thread."""
    watches = _watches()
    return watches[-1] if watches else None


@contextmanager
def watching(ledger: Ledger) -> Iterator[None]:
    """Watch the current thread."""
    watch = Watch(ledger)
    with watch.hooks(), watch.dispatching(), watch.reads or nullcontext():
        _watches().append(watch)
        ledger.threads.add(threading.get_ident())
        try:
            yield
        finally:
            _watches().remove(watch)
            ledger.threads.discard(threading.get_ident())


def _watches() -> list[Watch]:
    watches: list[Watch] = _local.__dict__.setdefault("watches", [])
    return watches


@dataclass(frozen=True, slots=True)
class _Nested:
    """What the graph keeps under somebody else's hooks: what they made, and their tensor if it shares the memory."""

    inner: object
    tensor: torch.Tensor | None = None
    save: Save | None = None


class Watch(TorchDispatchMode):  # type: ignore[misc]  # torch is not read by mypy
    """What one thread does, seen from the dispatcher and from autograd."""

    supports_higher_order_operators = True

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger
        self.reads = StaleReads(ledger) if ledger.stale_reads else None
        self.resting = self.asleep = False
        self.operator = _Operator(None, "", (), True)
        self.nodes_then = -1
        self.call = Call((), "none")
        self.call_site: tuple[int, ...] = ()
        self.probed: list[Packed] | None = None
        self.handed = WeakTensorKeyDictionary()
        self.foreign = 0
        self.aside = False
        self.pair: tuple[Callable[[Any], Any], Callable[[Any], Any]] = (self.pack, self.unpack)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # otherwise torch.compile would fall back to eager code, and the program would be another

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return not _LEFT_ALONE  # the wrapper that this asks for costs as much as all the rest

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = _operators.get(id(func)) or _operator(func)
        self.operator, self.nodes_then = operator, _nodes_made()
        if not self.call.op and self.call_site[0] == self.nodes_then:
            self.call.op = operator.name
        if not operator.writes or (operator.counts and not len(self.ledger.tracks)):
            return func(*args, **kwargs) if kwargs else func(*args)
        targets = operator.targets(args, kwargs or {})
        for tensor in targets:
            self.ledger.note(operator.name, tensor)
        if operator.counts:
            return func(*args, **kwargs) if kwargs else func(*args)
        before = [version_of(tensor) for tensor in targets]
        result = func(*args, **(kwargs or {}))
        for tensor, version in zip(targets, before, strict=True):
            if version == version_of(tensor) != -1:
                torch.autograd.graph.increment_version(tensor)
        return result

    @contextmanager
    def dispatching(self) -> Iterator[None]:
        """Be shown every operator."""
        self.__enter__()
        try:
            yield
        finally:
            self.resume()
            if not self.resting:
                self.__exit__(None, None, None)

    def rest(self) -> None:
        """See no operators until `resume`, if nothing is lost by that: nothing is saved that they could overwrite."""
        if not len(self.ledger.tracks) and len(self.ledger.threads) == 1:
            self._rest()

    def _rest(self) -> None:
        if _modes_active() == 1 and not self.resting:
            self.__exit__(None, None, None)
            self.resting = True

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """See no operators in the block."""
        before = self.resting, self.asleep
        self._rest()
        self.asleep = True  # what the autograd engine runs has its own stack of modes
        try:
            yield
        finally:
            resting, self.asleep = before
            if not resting:
                self.resume()

    def resume(self) -> None:
        """End a rest."""
        if self.resting and not self.asleep and _modes_active() == 0:
            self.resting = False
            self.__enter__()

    # Autograd's side

    @contextmanager
    def hooks(self) -> Iterator[None]:
        """Our hooks on top of those that stand already; other than ours they go on working."""
        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda ignore: None)(False)
        if top is not None and not isinstance(getattr(top[0], "__self__", None), Watch):
            self.pair = self.around(*top)
        torch._C._autograd._push_saved_tensors_default_hooks(*self.pair)
        try:
            yield
        finally:
            torch._C._autograd._pop_saved_tensors_default_hooks()

    def pack(self, tensor: torch.Tensor) -> Packed:
        """Called when autograd saves a tensor."""
        save = self.save(tensor, sys._getframe().f_back)
        if self.ledger.fingerprint:
            save.fingerprint = fingerprint_of(tensor)
        # A node must not hold its own result. The rest is kept as it is: then `.data = ...` has the effect that it has
        # without hooks.
        kept = tensor
        if not tensor.is_leaf:
            kept, save.joined = (detached(tensor), False) if save.slot else (tensor, True)
        return Packed(kept, save, self.ledger)

    def unpack(self, packed: Packed) -> torch.Tensor:
        """Called when a backward pass, or a look at the graph, asks for it. Raises InplaceHazardError."""
        if self.probed is not None:
            self.probed.append(packed)
            return packed.tensor
        tensor, save = packed.tensor, packed.save
        if tensor._version != save.version:
            self.name(packed)
            self.ledger.refuse(tensor, save, silent=False)
        elif save.fingerprint is not None and not save.fingerprint.fits(tensor):
            self.name(packed)
            if save.slot not in _REFILLED:
                self.ledger.refuse(tensor, save, silent=True)
        if save.joined and tensor.is_leaf:
            raise RuntimeError(_DETACHED)
        save.reached = True
        self.ledger.report.unpacked += 1
        return tensor

    def save(self, tensor: torch.Tensor, frame: FrameType | None) -> Save:
        """The facts about a save that is being made, as cheaply as they come; no frame where C++ began the thread."""
        if self.resting:
            self.resume()
        nodes = _nodes_made()
        # A node is made, its inputs are saved, the operator is dispatched, the results are saved. Writes to views make
        # nodes after that. Other tensors are not asked for theirs: PyTorch 2.13 takes graphs in which each was asked
        # apart recursively, and thousands are too many for its stack.
        result = nodes == self.nodes_then
        if not result and self.operator.writes and tensor._is_view():
            node = tensor.grad_fn
            result = node is not None and node._sequence_nr() >= nodes - 1
        custom = frame.f_locals["cls"].__name__ if frame is not None and frame.f_code is _APPLY else ""
        if custom:
            self.ledger.python_in_backward = True
        call_site = (nodes, id(frame), frame.f_lasti if frame is not None else 0)
        if call_site != self.call_site:  # otherwise the same node saves another tensor
            stack, compiled = user_stack(frame)
            self.call, self.call_site = Call(stack, custom or (self.operator.name if result else "")), call_site
            if compiled:
                self.note(_COMPILED)
        return Save(
            call=self.call,
            slot="`saved_tensors`" if custom else "its result" if result else "",
            output=tensor.output_nr if result and not custom and tensor.requires_grad else None,
            version=version_of(tensor),
            clock=next(self.ledger.clock),
            track=self.ledger.track(tensor),
        )

    def note(self, blind: str) -> None:
        """Say once what is out of sight."""
        if blind not in self.ledger.report.notes:
            self.ledger.report.notes.append(blind)
            if self.ledger.mode != "record":
                warnings.warn(blind, InplaceHazardWarning, stacklevel=4)

    def name(self, packed: Packed) -> None:
        """Ask the node that is being executed which of its slots this is."""
        node: Any = torch._C._current_autograd_node()
        attributes = [name for name in dir(type(node)) if name == "saved_tensors" or name.startswith("_saved_")]
        if attributes:  # None outside a backward pass, and a write to a view hides its node inside of another
            packed.save.call.node = type(node).__name__
            packed.save.call.op = _op_of(type(node).__name__)
        for attribute in attributes:
            self.probed = []
            try:
                getattr(node, attribute)
            except RuntimeError:  # another slot of this node is gone, or somebody else's hook refuses: not ours
                continue
            finally:
                probed, self.probed = self.probed, None
            if any(found is packed for found in probed):
                slot = attribute.removeprefix("_saved_")
                if attribute == "saved_tensors":
                    slot = f"saved_tensors[{next(i for i, found in enumerate(probed) if found is packed)}]"
                packed.save.slot = "its result" if slot in ("result", "output", "out") else f"`{slot}`"
                return

    # Somebody else's hooks

    def around(
        self, pack: Callable[[torch.Tensor], Any], unpack: Callable[[Any], torch.Tensor]
    ) -> tuple[Callable[[torch.Tensor], _Nested], Callable[[_Nested], torch.Tensor]]:
        """Hooks that call these and watch what they hand out.

        What they copied may be overwritten. What shares the memory of the saved tensor may not, and PyTorch, which
        does not look behind hooks, would compute a wrong gradient from it.
        """

        def pack_around(tensor: torch.Tensor) -> _Nested:
            self.ledger.python_in_backward = True
            inner = pack(tensor)
            key = storage_of(tensor)
            for kept in inner if isinstance(inner, (list, tuple)) else (inner,):
                if isinstance(kept, torch.Tensor) and key is not None and storage_of(kept) == key:
                    save = self.save(tensor, sys._getframe().f_back)
                    save.version = version_of(kept)
                    self.handed[kept] = save
                    return _Nested(inner, kept, save)
            return _Nested(inner)

        def unpack_around(nested: _Nested) -> torch.Tensor:
            tensor = unpack(nested.inner)
            self.check(nested.tensor, nested.save)
            self.check(tensor, self.handed.get(tensor))  # checkpoint hands out what its hooks saw while recomputing
            return tensor

        return pack_around, unpack_around

    def check(self, tensor: torch.Tensor | None, save: Save | None) -> None:
        if tensor is not None and save is not None and version_of(tensor) != save.version:
            self.ledger.refuse(tensor, save, silent=True)


class _Operator(NamedTuple):
    """What the schema of an operator says: its name, what it writes to, and whether that counts as a new version."""

    function: Any
    name: str
    writes: tuple[tuple[int, str], ...]
    counts: bool

    def targets(self, args: Any, kwargs: Any) -> list[torch.Tensor]:
        """The tensors that a call writes to."""
        found = []
        for position, name in self.writes:
            value = args[position] if position < len(args) else kwargs.get(name)
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, torch.Tensor):
                    found.append(tensor)
        return found


#: By identity, since an operator's hash is computed in Python; each entry holds its operator.
_operators: dict[int, _Operator] = {}


def _operator(func: Any) -> _Operator:
    """Read a schema once. A higher-order operator has none, and writes nothing itself."""
    schema = getattr(func, "_schema", None)
    writes = tuple(
        (sys.maxsize if argument.kwarg_only else position, argument.name)
        for position, argument in enumerate(schema.arguments if schema is not None else ())
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    name = str(getattr(func, "__name__", func)).partition(".")[0]
    operator = _operators[id(func)] = _Operator(func, name, writes, not name.startswith(_UNCOUNTED))
    return operator


def _op_of(node: str) -> str:
    """`SigmoidBackward0` -> `sigmoid`; the name of a custom function stays as it is."""
    name, backward, number = re.fullmatch(r"(\w*?)(Backward)?(\d*)", node).groups()  # type: ignore[union-attr]
    if not (backward and number):
        return str(name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", str(name)).lower()


if _LEFT_ALONE:
    for _function in (Watch.__torch_dispatch__, Watch.pack, Watch.unpack):
        _skip = _DYNAMO._FrameExecStrategy(_DYNAMO._FrameAction.SKIP, _DYNAMO._FrameAction.SKIP)
        _DYNAMO.set_code_exec_strategy(_function.__code__, _skip)
