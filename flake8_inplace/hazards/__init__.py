"""Who judges: one module a family of rules, with its rows, its tables and what it listens to.

A checker has ``RULES``, the rows of its rules. ``TRIGGERS``, where it has them, are names that make a function worth
reading for it: see `program.summary`.
"""

from . import arguments, custom, data, discarded, origins, overlap, refused, replay, saved, snapshots, stale, style

_ = origins  # which keeps the log of writes
CHECKERS = (saved, refused, overlap, data, stale, arguments, discarded, snapshots, replay, custom, style)
TRIGGERS = frozenset[str]().union(*(getattr(checker, "TRIGGERS", frozenset()) for checker in CHECKERS))
"""The names that some checker is after."""
