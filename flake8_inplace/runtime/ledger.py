"""What autograd has saved and what was written to it since, for all threads of one sanitizer.

Nothing here keeps a tensor alive. A graph holds what it saved (`Packed`), that holds the `Track` of its storage, and
writes are noted for storages that have one.
"""

from __future__ import annotations

import warnings
import weakref
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, get_args

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from .frames import Stack, here, resolve
from .report import Hazard, InplaceHazardError, InplaceHazardWarning, Report, StaleRead, Write
from .tensors import Fingerprint, storage_of, version_of

Mode = Literal["raise", "warn", "record"]


@dataclass(frozen=True, slots=True)
class Event:
    """A write to a watched storage."""

    op: str
    stack: Stack
    shape: tuple[int, ...]
    clock: int


class Track:
    """A storage that a living graph has saved: what was written to it. Its saves keep it alive, and nothing else."""

    __slots__ = ("__weakref__", "events")

    def __init__(self) -> None:
        self.events: dict[Any, Event] = {}


@dataclass(slots=True)
class Call:
    """A call of an operator that saves tensors: where it stands, and its name and node, once those are known."""

    stack: Stack
    op: str = ""
    node: str = ""


@dataclass(slots=True)
class Save:
    """What is known about a save.

    ``output`` numbers the results of the call among its saves; ``joined``: the tensor itself is kept, with its history.

    It holds no tensor, so that it may outlive the graph.
    """

    call: Call
    slot: str
    output: int | None
    version: int
    clock: int
    track: Track
    fingerprint: Fingerprint | None = None
    reached: bool = False
    joined: bool = False


class Packed:
    """What the graph keeps in place of a tensor: the tensor, detached (it shares the version), and its save."""

    __slots__ = ("__weakref__", "ledger", "save", "tensor")

    def __init__(self, tensor: torch.Tensor, save: Save, ledger: Ledger) -> None:
        self.tensor, self.save, self.ledger = tensor, save, ledger
        ledger.living[id(self)] = weakref.ref(self)

    def __del__(self) -> None:
        self.ledger.released(self)

    @property
    def is_stale(self) -> bool:
        """Whether a write that was seen has changed it."""
        return bool(self.save.track.events) and version_of(self.tensor) != self.save.version


class Ledger:
    """What the threads of one sanitizer share."""

    def __init__(self, mode: Mode, fingerprint: bool = False, stale_reads: bool = False) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode is one of {', '.join(get_args(Mode))}, not {mode!r}")
        self.mode = mode
        self.fingerprint = fingerprint
        self.stale_reads = stale_reads
        self.report = Report()
        self.clock = count()
        self.closed = False
        self.python_in_backward = False  # custom functions and hooks may write there; PyTorch itself does not
        self.threads: set[int] = set()
        self.tracks: weakref.WeakValueDictionary[int, Track] = weakref.WeakValueDictionary()
        self.living: dict[int, weakref.ref[Packed]] = {}
        self.taken = WeakTensorKeyDictionary()  # what stale reads are looked for in

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
            if packed is not None and packed.is_stale and (used or not packed.save.reached):
                found.add(self.hazard(packed.tensor, packed.save))
        return found.hazards

    def released(self, packed: Packed) -> None:
        """The graph has let go of a tensor."""
        self.living.pop(id(packed), None)
        if not self.closed and not packed.save.reached and packed.is_stale:
            self.report.add(self.hazard(packed.tensor, packed.save))

    def track(self, tensor: torch.Tensor) -> Track:
        """The track of a tensor's storage."""
        key = storage_of(tensor)
        track = self.tracks.get(key) if key is not None else None
        if track is None:
            track = Track()
            if key is not None:
                self.tracks[key] = track
        return track

    def note(self, op: str, tensor: torch.Tensor) -> None:
        """An operator is about to write to a tensor. A later write from the same lines takes the place of this one."""
        track = self.tracks.get(storage_of(tensor))
        if track is not None:
            stack, _ = here()
            key = (op, *((id(code), offset) for code, offset in stack))
            track.events.pop(key, None)  # so that the events stay in order
            track.events[key] = Event(op, stack, tuple(tensor.shape), next(self.clock))

    def hazard(self, tensor: torch.Tensor, save: Save, reached: bool = False, silent: bool = False) -> Hazard:
        """The facts about a save and what was written since."""
        events = [event for event in save.track.events.values() if event.clock > save.clock]
        number, node = save.output, save.call.node or save.call.op
        if number is None:
            number, node = tensor.output_nr, type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else ""
        return Hazard(
            tensor=tensor.type(),
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype),
            device=str(tensor.device),
            producer=f"output {number} of {node}" if node else "",
            saved_by=save.call.op or "an operator",
            slot=save.slot,
            saved_at=resolve(save.call.stack),
            writes=tuple(Write(event.op, resolve(event.stack), event.shape) for event in events),
            version_saved=save.version,
            version_now=tensor._version,
            reached=reached,
            silent=silent,
            leaf=any(each is not None and each.is_leaf and each.requires_grad for each in (tensor, tensor._base)),
        )

    def refuse(self, tensor: torch.Tensor, save: Save, silent: bool) -> None:
        """A backward pass asks for a tensor that was overwritten. Returns only where PyTorch would have gone on too."""
        save.reached = True
        if not save.track.events:
            self.python_in_backward = True  # so it seems: the next backward pass is watched
        hazard = self.hazard(tensor, save, reached=True, silent=silent)
        if self.report.add(hazard) and self.mode == "warn":
            warnings.warn(str(hazard), InplaceHazardWarning, stacklevel=2)
        if self.mode == "raise" or not silent:
            others = [other for other in self.waiting(used=True) if not other.same_lines(hazard)]
            for other in others:
                self.report.add(other)
            raise InplaceHazardError([hazard, *others])

    def stale(self, tensor: torch.Tensor, op: str, taken: Stack, since: int, track: Track) -> None:
        """Somebody reads a tensor that has changed, and not through itself, since these lines took it."""
        events = [event for event in track.events.values() if event.clock > since]
        read = StaleRead(
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype),
            device=str(tensor.device),
            taken_at=resolve(taken),
            writes=tuple(Write(event.op, resolve(event.stack), event.shape) for event in events),
            reader=op,
            read_at=resolve(here()[0]),
        )
        if self.report.add_stale(read) and self.mode != "record":
            warnings.warn(str(read), InplaceHazardWarning, stacklevel=2)
