"""The custom backward that is being read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..heap.autograd import Write
from ..heap.state import Declared, each_once
from ..heap.values import Saved, Storage
from ..program.site import Site


@dataclass(slots=True, eq=False)
class BackwardRun:
    """The backward of a custom function, or a hook of the backward pass, while it is read. Otherwise empty."""

    readonly: dict[Storage, str] = field(default_factory=dict)  # storages it must not write to, with the misuse
    saved: dict[Storage, list[Write]] = field(default_factory=dict)  # storages it may overwrite once, with the writes
    place: Site | None = None  # its definition, or where the hook is registered
    records: set[Storage] = field(default_factory=set)  # inputs that its forward does not compute with
    used: set[Storage] | None = None  # what the forward or backward being read computes with

    def misused(self, storage: Storage) -> str:
        """Return the misuse that a write to a storage is, or an empty string.

        An input with which neither forward nor backward computes is there to be written to: it counts, or keeps a norm.
        """
        record = storage in self.records and self.used is not None and storage not in self.used
        return "" if record else self.readonly.get(storage, "")


SECOND_BACKWARD: Declared[Saved, tuple[Write, ...]] = Declared(each_once)
"""The writes of a custom backward to tensors that its forward saved: a hazard if a second backward follows."""
