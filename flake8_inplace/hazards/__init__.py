"""The checkers: a module for each family of rules.

A checker has ``RULES``, tables of its own, and functions that listen to `trace.events`. If it looks for more than
in-place writes, its ``TRIGGERS`` name what else makes a function worth reading.
"""

from . import arguments, custom, data, discarded, origins, overlap, refused, replay, saved, snapshots, stale, style

_ = origins  # imported for its listeners, which log the writes
CHECKERS = (saved, refused, overlap, data, stale, arguments, discarded, snapshots, replay, custom, style)
TRIGGERS = saved.TRIGGERS | refused.TRIGGERS | snapshots.TRIGGERS
"""What makes a function worth reading for any checker."""
