"""Results that are thrown away: ``x.clamp(0, 1)`` as a statement changes nothing."""

from __future__ import annotations

from ..rule import Rule

RULES = (
    Rule(
        "TIP305",
        "discarded-result",
        "the result of an out-of-place method is thrown away",
        "discarded",
        "changes nothing, and its result is thrown away; use the in-place method, or the result",
        silent=True,
        at_run_time=False,
    ),
)
