"""Modules that overwrite their input, built so that they do not: ``nn.ReLU(inplace=True)`` becomes ``nn.ReLU()``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Finding, Fix
from ..rules import RULES
from .facts import Facts
from .statements import without
from .syntax import Module, inplace_flag, last_name

_TRIED = 8
"""How many constructors are changed, one after the other, for a module that overwrites."""


def constructors(module: Module, finding: Finding, facts: Facts) -> Iterator[Fix]:
    """``inplace=True`` dropped where a module that overwrites is built: one constructor, or all.

    Not where a call is made for what it does to its input, or where the input is read afterwards: with what was written
    into it, as far as anybody can see.
    """
    calls = [fact for fact in facts.writes.values() if fact.form == "inplace"]
    heard = any(fact.ways for fact in calls) and not RULES[finding.code].silent
    if heard or any(fact.discarded or fact.cuts for fact in calls):
        return
    edits = [edit for call in module.of(cst.Call) if (edit := _without_flag(module, call)) is not None]
    if len(edits) > _TRIED:
        edits = []
    choices = [(edit,) for edit in edits] + ([tuple(edits)] if len(edits) > 1 else [])
    for choice in choices:
        where = f"on line {choice[0].start.line}" if len(choice) == 1 else "wherever this file says so"
        yield Fix(f"drop `inplace=True` {where}", False, choice)


def _without_flag(module: Module, call: cst.Call) -> Edit | None:
    """A constructor without its flag: ``nn.ReLU(inplace=True)``, ``nn.ReLU(True)``, ``nn.ELU(inplace=FAST)``."""
    flag = inplace_flag(call) if last_name(call.func)[:1].isupper() else None
    if flag is None or module.code(flag.value) == "False":
        return None
    last = flag.keyword is not None or flag is call.args[-1]
    return without(module, call, flag) if last else module.replaced(flag.value, "False")
