"""A backward function that is being read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..heap.autograd import Write
from ..heap.join import Options
from ..heap.state import Declared
from ..heap.values import Saved, Storage


@dataclass(slots=True, eq=False)
class BackwardRun:
    """A custom function's backward, or a hook of the backward pass, while it is read; empty while none is."""

    readonly: dict[Storage, str] = field(default_factory=dict)  # memory it must not write to, with the misuse
    saved: dict[Storage, list[Write]] = field(default_factory=dict)  # memory it may overwrite once, with the writes


def all_writes(options: Options[tuple[Write, ...]]) -> tuple[Write, ...]:
    """Join the writes of several paths: each counts."""
    return tuple(dict.fromkeys(write for _, writes in options for write in writes))


SECOND_BACKWARD: Declared[Saved, tuple[Write, ...]] = Declared(all_writes)
"""The writes that a custom backward makes to what it saved for itself: a hazard if a second backward comes."""
