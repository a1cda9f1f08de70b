"""Watches a program while it runs: what autograd saves, what is overwritten, and what a backward pass then asks for.

Two things are watched in each thread. Saved-tensor hooks keep, with every tensor that goes into the graph, its version
and the line that is being executed. They also switch autograd's own check off, so the check is made here, in every
mode: where PyTorch would have raised, this raises. A dispatch mode sees each operation before it runs; what its schema
says it writes is noted for the storages that some living graph has saved, and forgotten with them.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import count
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from .frames import Stack, here, resolve, user_stack
from .report import Hazard, InplaceHazardError, InplaceHazardWarning, Report, Write

Mode = Literal["raise", "warn", "record"]

_COMPILED = (
    "compiled code ran: of what torch.compile made, only the inputs and results are watched, not the tensors and "
    "writes inside of it"
)

#: Saved tensors that their own operator fills after it saved them, without a new version and without harm.
_REFILLED = frozenset({"`running_mean`", "`running_var`", "`noise`"})

#: Operators that call others to write. Under a dispatch mode those do not count versions (on the CPU; on CUDA they do
#: it themselves), and a hazard would pass unseen: the sanitizer counts for them.
_UNCOUNTED = ("_foreach_", "split_with_sizes_copy", "unbind_copy")

#: Whether Dynamo can be told cheaply to leave our frames alone, should it meet them in a region that it compiles.
_DYNAMO: Any = torch._C._dynamo.eval_frame
_LEFT_ALONE = hasattr(_DYNAMO, "set_code_exec_strategy")

_APPLY = torch.autograd.Function.apply.__code__
_local = threading.local()
_enabled: ExitStack | None = None
_enabled_report: Report | None = None


@contextmanager
def inplace_sanitizer(mode: Mode = "raise", *, fingerprint: bool = False) -> Iterator[Report]:
    """Watch the block for tensors that autograd needs and that something overwrites; yields the `Report`.

    Where PyTorch would have raised at ``backward()``, `InplaceHazardError` comes instead, a RuntimeError that names
    both lines, in every mode. ``mode`` decides what else happens: "raise" raises for what only this sanitizer notices
    too, "warn" warns of each hazard (`InplaceHazardWarning`), "record" fills the report.

    ``fingerprint`` compares the contents of saved tensors besides their versions. That finds writes which PyTorch does
    not count (``.data``, numpy, fused optimizers, kernels of one's own), for a pass over every saved tensor when it is
    saved and when it is used. Threads started inside the block are watched too. Raises ValueError for another mode.
    """
    sanitizer = Sanitizer(mode, fingerprint)
    with _patched(), sanitizer.watching():
        try:
            yield sanitizer.report
        finally:
            sanitizer.close()


def enable(mode: Mode = "raise", *, fingerprint: bool = False) -> Report:
    """Watch from here on, as `inplace_sanitizer` does, until `disable`. Raises RuntimeError where it is on already."""
    global _enabled, _enabled_report
    if _enabled is not None:
        raise RuntimeError("the in-place sanitizer is enabled already")
    with ExitStack() as stack:
        _enabled_report = stack.enter_context(inplace_sanitizer(mode, fingerprint=fingerprint))
        _enabled = stack.pop_all()
    return _enabled_report


def disable() -> Report | None:
    """End what `enable` began; the report, or None where nothing was enabled. To be called in the same thread."""
    global _enabled, _enabled_report
    stack, report = _enabled, _enabled_report
    _enabled = _enabled_report = None
    if stack is not None:
        stack.close()
    return report


class _Event:
    """A write to a watched storage; a later one from the same lines takes its place."""

    __slots__ = ("clock", "op", "shape", "stack")

    def __init__(self, op: str, stack: Stack, shape: tuple[int, ...], clock: int) -> None:
        self.op, self.stack, self.shape, self.clock = op, stack, shape, clock


class _Track:
    """A storage that a living graph has saved: what was written to it. Its saves keep it alive, and nothing else."""

    __slots__ = ("__weakref__", "events")

    def __init__(self) -> None:
        self.events: dict[Any, _Event] = {}


class _Save:
    """What is known about a save. It holds no tensor, so that it may outlive the graph."""

    __slots__ = ("clock", "op", "print", "producer", "reached", "slot", "stack", "track", "version")

    def __init__(self, version: int, clock: int, stack: Stack, track: _Track) -> None:
        self.version, self.clock, self.stack, self.track = version, clock, stack, track
        self.op = self.slot = self.producer = ""
        self.print: torch.Tensor | None = None
        self.reached = False


class _Packed:
    """What the graph keeps in place of a tensor: the tensor, detached (it shares the version), and its save."""

    __slots__ = ("__weakref__", "owner", "save", "tensor")

    def __init__(self, tensor: torch.Tensor, save: _Save, owner: Sanitizer) -> None:
        self.tensor, self.save, self.owner = tensor, save, owner

    def __del__(self) -> None:
        self.owner.released(self)


class _Nested:
    """What the graph keeps under somebody else's hooks: what they made, and their tensor if it shares the memory."""

    __slots__ = ("inner", "save", "tensor")

    def __init__(self, inner: object, tensor: torch.Tensor | None, save: _Save | None) -> None:
        self.inner, self.tensor, self.save = inner, tensor, save


class Sanitizer:
    """What the threads of one block share."""

    def __init__(self, mode: Mode, fingerprint: bool = False) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode is one of {', '.join(get_args(Mode))}, not {mode!r}")
        self.mode = mode
        self.fingerprint = fingerprint
        self.report = Report()
        self.clock = count()
        self.closed = False
        self.tracks: weakref.WeakValueDictionary[int, _Track] = weakref.WeakValueDictionary()
        self.living: dict[int, weakref.ref[_Packed]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the current thread."""
        watch = _Watch(self)
        watches = _watches()
        with watch.hooks(), watch:
            watches.append(watch)
            try:
                yield
            finally:
                watches.remove(watch)

    def close(self) -> None:
        """Report what was overwritten and has not been asked for. Graphs that live on are checked all the same."""
        for hazard in self.waiting():
            self.report.add(hazard)
        self.closed = True

    def waiting(self, used: bool = False) -> list[Hazard]:
        """The tensors in living graphs that are overwritten and that no backward pass has asked for.

        ``used`` adds those that one has used before they were overwritten: a retained graph may need them again.
        """
        found = Report()
        for reference in list(self.living.values()):
            packed = reference()
            if packed is not None and _is_stale(packed) and (used or not packed.save.reached):
                found.add(self.hazard(packed.tensor, packed.save))
        return found.hazards

    def released(self, packed: _Packed) -> None:
        """The graph has let go of a tensor."""
        self.living.pop(id(packed), None)
        if not self.closed and not packed.save.reached and _is_stale(packed):
            self.report.add(self.hazard(packed.tensor, packed.save))

    def track(self, tensor: torch.Tensor) -> _Track:
        """The track of a tensor's storage."""
        key = _storage(tensor)
        track = self.tracks.get(key) if key is not None else None
        if track is None:
            track = _Track()
            if key is not None:
                self.tracks[key] = track
        return track

    def note(self, op: str, tensor: torch.Tensor) -> None:
        """An operator is about to write to a tensor."""
        track = self.tracks.get(_storage(tensor))
        if track is not None:
            stack, _ = here()
            key = (op, *((id(code), offset) for code, offset in stack))
            track.events.pop(key, None)  # so that the events stay in order
            track.events[key] = _Event(op, stack, tuple(tensor.shape), next(self.clock))

    def hazard(self, tensor: torch.Tensor, save: _Save, reached: bool = False, silent: bool = False) -> Hazard:
        """The facts about a save and what was written since."""
        events = [event for event in save.track.events.values() if event.clock > save.clock]
        return Hazard(
            tensor=tensor.type(),
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype),
            device=str(tensor.device),
            producer=save.producer,
            saved_by=save.op or "an operator",
            slot=save.slot,
            saved_at=resolve(save.stack),
            writes=tuple(Write(event.op, resolve(event.stack), event.shape) for event in events),
            version_saved=save.version,
            version_now=tensor._version,
            reached=reached,
            silent=silent,
        )

    def refuse(self, tensor: torch.Tensor, save: _Save, silent: bool) -> None:
        """A backward pass asks for a tensor that was overwritten. Returns only where PyTorch would have gone on too."""
        save.reached = True
        hazard = self.hazard(tensor, save, reached=True, silent=silent)
        if self.report.add(hazard) and self.mode == "warn":
            warnings.warn(str(hazard), InplaceHazardWarning, stacklevel=2)
        if self.mode == "raise" or not silent:
            others = [other for other in self.waiting(used=True) if not other.same_lines(hazard)]
            for other in others:
                self.report.add(other)
            raise InplaceHazardError([hazard, *others])


class _Watch(TorchDispatchMode):  # type: ignore[misc]  # torch is not read by mypy
    """What one thread does, seen from the dispatcher and from autograd."""

    supports_higher_order_operators = True

    def __init__(self, sanitizer: Sanitizer) -> None:
        super().__init__()
        self.sanitizer = sanitizer
        self.unnamed: list[_Save] = []
        self.probed: list[_Packed] | None = None
        self.handed = WeakTensorKeyDictionary()
        self.foreign = 0
        self.pair: tuple[Callable[[Any], Any], Callable[[Any], Any]] = (self.pack, self.unpack)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # otherwise torch.compile would fall back to eager code, and the program would be another

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return not _LEFT_ALONE  # the wrapper that this asks for costs as much as all the rest

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = _operators.get(id(func)) or _operator(func)
        if self.unnamed:
            for save in self.unnamed:
                save.op = operator.name
            self.unnamed.clear()
        if not operator.writes or (operator.counts and not len(self.sanitizer.tracks)):
            return func(*args, **kwargs) if kwargs else func(*args)
        targets = operator.targets(args, kwargs or {})
        for tensor in targets:
            self.sanitizer.note(operator.name, tensor)
        if operator.counts:
            return func(*args, **kwargs) if kwargs else func(*args)
        before = [_version(tensor) for tensor in targets]
        result = func(*args, **(kwargs or {}))
        for tensor, version in zip(targets, before, strict=True):
            if version == _version(tensor) != -1:
                torch.autograd.graph.increment_version(tensor)
        return result

    # Autograd's side

    @contextmanager
    def hooks(self) -> Iterator[None]:
        """Our hooks on top of those that stand already; other than ours they go on working."""
        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda ignore: None)(False)
        if top is not None and not isinstance(getattr(top[0], "__self__", None), _Watch):
            self.pair = self.around(*top)
        torch._C._autograd._push_saved_tensors_default_hooks(*self.pair)
        try:
            yield
        finally:
            torch._C._autograd._pop_saved_tensors_default_hooks()

    def pack(self, tensor: torch.Tensor) -> _Packed:
        """Called when autograd saves a tensor."""
        sanitizer = self.sanitizer
        save = self.save(tensor, sys._getframe(1))
        detached = _detach(tensor)
        if sanitizer.fingerprint:
            save.print = _fingerprint(detached)
        packed = _Packed(detached, save, sanitizer)
        sanitizer.living[id(packed)] = weakref.ref(packed)
        return packed

    def unpack(self, packed: _Packed) -> torch.Tensor:
        """Called when a backward pass, or a look at the graph, asks for it. Raises InplaceHazardError."""
        if self.probed is not None:
            self.probed.append(packed)
            return packed.tensor
        tensor, save = packed.tensor, packed.save
        if tensor._version != save.version:
            self.name(packed)
            self.sanitizer.refuse(tensor, save, silent=False)
        elif save.print is not None and not torch.equal(save.print, _fingerprint(tensor)):
            self.name(packed)
            if save.slot not in _REFILLED:
                self.sanitizer.refuse(tensor, save, silent=True)
        save.reached = True
        self.sanitizer.report.unpacked += 1
        return tensor

    def save(self, tensor: torch.Tensor, frame: Any) -> _Save:
        """The facts about a save that is being made, as cheaply as they come."""
        sanitizer = self.sanitizer
        stack, compiled = user_stack(frame)
        save = _Save(_version(tensor), next(sanitizer.clock), stack, sanitizer.track(tensor))
        node = tensor.grad_fn
        if node is not None:
            name = type(node).__name__
            save.producer = f"output {tensor.output_nr} of {name}"
        if frame.f_code is _APPLY:
            save.op = frame.f_locals["cls"].__name__
        elif node is not None and node._sequence_nr() == torch._C._autograd._get_sequence_nr() - 1:
            # The node that saves is the youngest: this is its own result. Otherwise the operator is about to run.
            save.op, save.slot = _op_of(name), "its result"
        else:
            self.unnamed.append(save)
        if compiled and _COMPILED not in sanitizer.report.notes:
            sanitizer.report.notes.append(_COMPILED)
            if sanitizer.mode != "record":
                warnings.warn(_COMPILED, InplaceHazardWarning, stacklevel=3)
        return save

    def name(self, packed: _Packed) -> None:
        """Ask the node that is being executed which of its slots this is."""
        node: Any = torch._C._current_autograd_node()
        attributes = [name for name in dir(type(node)) if name == "saved_tensors" or name.startswith("_saved_")]
        if attributes:  # None outside a backward pass, and a write to a view hides its node inside of another
            packed.save.op = _op_of(type(node).__name__)
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
            inner = pack(tensor)
            key = _storage(tensor)
            for kept in inner if isinstance(inner, (list, tuple)) else (inner,):
                if isinstance(kept, torch.Tensor) and key is not None and _storage(kept) == key:
                    save = self.save(tensor, sys._getframe(1))
                    save.version = _version(kept)
                    self.handed[kept] = save
                    return _Nested(inner, kept, save)
            return _Nested(inner, None, None)

        def unpack_around(nested: _Nested) -> torch.Tensor:
            tensor = unpack(nested.inner)
            self.check(nested.tensor, nested.save)
            self.check(tensor, self.handed.get(tensor))  # checkpoint hands out what its hooks saw while recomputing
            return tensor

        return pack_around, unpack_around

    def check(self, tensor: torch.Tensor | None, save: _Save | None) -> None:
        if tensor is not None and save is not None and _version(tensor) != save.version:
            self.sanitizer.refuse(tensor, save, silent=True)


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


def _is_stale(packed: _Packed) -> bool:
    save = packed.save
    return bool(save.track.events) and packed.tensor._version != save.version


def _storage(tensor: torch.Tensor) -> Any:
    """What names a tensor's memory; None where it has none of its own (sparse, or wrapped by a transform)."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _detach(tensor: torch.Tensor) -> torch.Tensor:
    """Without a round trip through the dispatch mode, except for subclasses, which need theirs."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    guard: AbstractContextManager[object] = torch._C._DisableTorchDispatch() if plain else nullcontext()
    with guard:
        return tensor.detach()


def _fingerprint(tensor: torch.Tensor) -> torch.Tensor | None:
    """A checksum of the contents that also knows their order; None where there are no plain bytes to read."""
    if tensor.layout is not torch.strided or tensor.device.type == "meta" or tensor.is_quantized:
        return None
    with torch.no_grad(), torch._C._DisableTorchDispatch():
        flat = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous().view(-1)
        if flat.dtype.is_floating_point:
            flat = flat.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()])
        weights = torch.arange(1, 2 * flat.numel(), 2, device=flat.device).mul_(0x9E3779B97F4A7C15 - (1 << 64))
        return (flat.to(torch.int64) * weights).sum()  # not in place: this may be the tensor itself


def _op_of(node: str) -> str:
    """`SigmoidBackward0` -> `sigmoid`; the name of a custom function stays as it is."""
    name, backward, number = re.fullmatch(r"(\w*?)(Backward)?(\d*)", node).groups()  # type: ignore[union-attr]
    if not (backward and number):
        return str(name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", str(name)).lower()


def _watches() -> list[_Watch]:
    """The watches of this thread, the innermost last."""
    watches: list[_Watch] = _local.__dict__.setdefault("watches", [])
    return watches


# What has to be changed in PyTorch and Python while a sanitizer is on

_patches: ExitStack | None = None
_patch_users = 0
_patch_lock = threading.Lock()


@contextmanager
def _patched() -> Iterator[None]:
    """Other hooks, transforms that refuse hooks, and new threads work together with the sanitizer inside the block."""
    global _patches, _patch_users
    with _patch_lock:
        _patch_users += 1
        if _patches is None:
            _patches = ExitStack()
            for owner, name, make in (
                (saved_tensors_hooks, "__enter__", _enter_hooks),
                (saved_tensors_hooks, "__exit__", _exit_hooks),
                (torch.autograd.graph, "disable_saved_tensors_hooks", _disable_hooks),
                (threading.Thread, "start", _start_thread),
                (torch.Tensor, "numpy", _make_array),
            ):
                _patches.callback(_replace(owner, name, make))
    try:
        yield
    finally:
        with _patch_lock:
            _patch_users -= 1
            if _patch_users == 0 and _patches is not None:
                _patches.close()
                _patches = None


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Put what ``make`` makes of an attribute in its place; returns what undoes it."""
    original, inherited = getattr(owner, name), name not in vars(owner)
    setattr(owner, name, make(original))
    return partial(delattr, owner, name) if inherited else partial(setattr, owner, name, original)


def _enter_hooks(original: Callable[..., None]) -> Callable[..., None]:
    def enter(self: saved_tensors_hooks) -> None:
        watches = _watches()
        if not watches:
            return original(self)
        torch._C._autograd._push_saved_tensors_default_hooks(*watches[-1].around(self.pack_hook, self.unpack_hook))
        watches[-1].foreign += 1
        return None

    return enter


def _exit_hooks(original: Callable[..., None]) -> Callable[..., None]:
    def leave(self: saved_tensors_hooks, *exception: object) -> None:
        watches = _watches()
        if watches and watches[-1].foreign:
            watches[-1].foreign -= 1
        original(self, *exception)

    return leave


def _disable_hooks(
    original: Callable[[str], AbstractContextManager[None]],
) -> Callable[[str], AbstractContextManager[None]]:
    @contextmanager
    def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
        """Transforms refuse to run under hooks. Ours step aside for them: PyTorch's own check is on then."""
        watches = _watches()
        ours = bool(watches) and not watches[-1].foreign and not getattr(_local, "aside", False)
        if not ours:
            with original(error_message):
                yield
            return
        torch._C._autograd._pop_saved_tensors_default_hooks()
        _local.aside = True
        try:
            with original(error_message):
                yield
        finally:
            _local.aside = False
            torch._C._autograd._push_saved_tensors_default_hooks(*watches[-1].pair)

    return disable_saved_tensors_hooks


def _start_thread(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def start(self: threading.Thread) -> None:
        watches = _watches()
        if watches:
            sanitizer, run = watches[-1].sanitizer, self.run

            def watched() -> None:
                del self.run
                with nullcontext() if sanitizer.closed else sanitizer.watching():
                    run()

            self.run = watched  # type: ignore[method-assign]
        original(self)

    return start


def _make_array(original: Callable[..., Any]) -> Callable[..., Any]:
    def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
        array = original(self, force=force)
        watches = _watches()
        if not watches or not watches[-1].sanitizer.fingerprint:
            return array
        from .arrays import watched  # which needs numpy

        return watched(array, partial(watches[-1].sanitizer.note, "numpy", self))

    return numpy


if _LEFT_ALONE:
    for _function in (_Watch.__torch_dispatch__, _Watch.pack, _Watch.unpack):
        _skip = _DYNAMO._FrameExecStrategy(_DYNAMO._FrameAction.SKIP, _DYNAMO._FrameAction.SKIP)
        _DYNAMO.set_code_exec_strategy(_function.__code__, _skip)
