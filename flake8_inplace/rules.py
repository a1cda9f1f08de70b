"""The table of rules: those of every checker, by their codes."""

from __future__ import annotations

from collections.abc import Iterable

from .hazards import CHECKERS
from .rule import Rule

PREFIX = "TIP"
UNREADABLE = Rule("TIP000", "unreadable", "this file could not be analysed", fix="never")
"""What is reported where a file, or a part of it, could not be read."""
_ALL = [UNREADABLE, *(rule for checker in CHECKERS for rule in checker.RULES)]
RULES = {rule.code: rule for rule in sorted(_ALL, key=lambda rule: rule.code)}
"""Every rule by its code."""
FAMILIES = {rule.code[:4]: rule.family for rule in RULES.values() if rule.family}
"""The families that are off by default, by the prefix of their codes."""


def named(words: Iterable[str]) -> frozenset[str]:
    """Return the families that these codes and prefixes name: "TIP9" and "TIP903" do, "TIP" does not."""
    return frozenset(FAMILIES[word[:4]] for word in words if word[:4] in FAMILIES)
