"""A backward function that is being read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..heap.autograd import Write
from ..heap.values import Storage


@dataclass(slots=True, eq=False)
class BackwardRun:
    """A custom function's backward, or a hook of the backward pass, while it is read; empty while none is."""

    readonly: dict[Storage, str] = field(default_factory=dict)  # memory it must not write to, with the misuse
    saved: dict[Storage, list[Write]] = field(default_factory=dict)  # memory it may overwrite once, with the writes
