"""The table of rules: those of every checker, by their codes."""

from __future__ import annotations

from .hazards import CHECKERS
from .rule import Rule

PREFIX = "TIP"
UNREADABLE = Rule("TIP000", "unreadable", "this file could not be analysed", fix="never")
"""What is reported where a file, or a part of it, could not be read."""
_ALL = [UNREADABLE, *(rule for checker in CHECKERS for rule in checker.RULES)]
RULES = {rule.code: rule for rule in sorted(_ALL, key=lambda rule: rule.code)}
"""Every rule by its code."""
