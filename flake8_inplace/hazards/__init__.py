"""Who judges: one module a family of rules, with its rows, its tables and what it listens to.

A checker has ``RULES``, the rows of its rules, and functions that listen to `trace.events`. Where it is after more than
in-place writes, its ``TRIGGERS`` say which names make a function worth reading.
"""

from . import arguments, custom, data, discarded, origins, overlap, refused, replay, saved, snapshots, stale, style

_ = origins  # which keeps the log of writes
CHECKERS = (saved, refused, overlap, data, stale, arguments, discarded, snapshots, replay, custom, style)
TRIGGERS = saved.TRIGGERS | refused.TRIGGERS | snapshots.TRIGGERS
"""What makes a function worth reading for some checker."""
