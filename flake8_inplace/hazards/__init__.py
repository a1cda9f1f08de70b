"""The checkers: a module for each family of rules.

A checker has ``RULES``, tables of its own, and functions that listen to `trace.events`. If it looks for more than
in-place writes, its ``TRIGGERS`` name what else makes a function worth reading.
"""

from functools import reduce
from operator import or_

from ..program.units import Triggers
from . import (
    arguments,
    constants,
    contained,
    copies,
    custom,
    data,
    discarded,
    first_reads,
    freed,
    gradients,
    handed_out,
    instances,
    integers,
    itself,
    kept,
    keyed,
    loaded,
    merged,
    moved_on,
    origins,
    overlap,
    refused,
    replay,
    restored,
    saved,
    sharers,
    snapshots,
    stale,
    stale_attributes,
    stale_parts,
    style,
    superseded,
    tables,
    taken_out,
    targets,
    tied,
    vectors,
    yielded,
)

# Imported for their listeners: reads, and the log of writes.
_ = [
    constants,
    contained,
    copies,
    first_reads,
    gradients,
    handed_out,
    instances,
    kept,
    keyed,
    merged,
    moved_on,
    origins,
    restored,
    superseded,
]
_ += [loaded, sharers, stale_attributes, stale_parts, tables, taken_out, targets, tied, vectors, yielded]
CHECKERS = (
    saved,
    freed,
    refused,
    overlap,
    data,
    stale,
    arguments,
    discarded,
    integers,
    itself,
    snapshots,
    replay,
    custom,
    style,
)
TRIGGERS = reduce(or_, (getattr(checker, "TRIGGERS", Triggers()) for checker in CHECKERS))
"""What makes a function worth reading for any checker."""
