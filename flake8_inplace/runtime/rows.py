"""Rows of `ops.json` as they read on a device or in another release, where they are held against what was seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..torchfacts import ops
from ..torchfacts.notation import Op, Param, Save, format_op, format_save, parse_op


def facts_of(name: str) -> dict[tuple[Param, ...], Op]:
    """The facts about a name of the table, by their parameters."""
    table = ops.table()
    return {op.params: op for op in (parse_op(table["rows"][i]) for i in table["names"].get(name, ()))}


def as_on(op: Op, marks: Collection[str]) -> Op:
    """A row without the marks of devices: the saves of these marks, one word for each slot and condition."""
    order = [p.name for p in op.params]
    needs: dict[Save, set[str]] = {}
    for save in op.saves:
        if save.device in marks:
            needs.setdefault(replace(save, needs=(), device=""), set()).update(save.needs)
    for save, found in needs.items():
        always = needs.get(replace(save, sure=True, when=()))
        if always is not None and always is not found:
            found -= always
    saves = (replace(save, needs=tuple(sorted(found, key=order.index))) for save, found in needs.items() if found)
    return replace(op, saves=tuple(sorted(saves, key=format_save)))


def same_but_saves(fact: str, here: str) -> bool:
    return replace(parse_op(fact), saves=()) == replace(parse_op(here), saves=())


def beside(op: Op, facts: Mapping[tuple[Param, ...], Op]) -> tuple[str | None, str]:
    """The row that the table has for what was measured, and the measured row with the parameters of that one.

    Releases add options to operators, and what is said of a call without them stays the same.
    """
    fact = facts.get(op.params) or next((fact for fact in facts.values() if extends(fact.params, op.params)), None)
    if fact is None:
        return None, format_op(op)
    return format_op(fact), format_op(replace(op, params=fact.params))


def extends(params: Sequence[Param], older: Sequence[Param]) -> bool:
    """Whether a call that fits the older parameters means the same with these."""
    places = {p.name: i for i, p in enumerate(older)}
    if not places.keys() <= {p.name for p in params}:
        return False
    same = all(
        p == older[places[p.name]] and (p.kwonly or places[p.name] == i) if p.name in places else p.optional
        for i, p in enumerate(params)
    )
    return same
