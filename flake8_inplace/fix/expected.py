"""Whether a new tensor would leave a reader of a stale value with what it expects: the old value, or the new one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from ..finding import Finding
from ..heap.values import Storage
from .facts import Fact, Facts
from .syntax import Module


def comes_late(facts: Facts, finding: Finding, found: Sequence[Finding]) -> bool:
    """Whether the reader also sees an earlier write of the same call, which no finding names.

    A new tensor below that write keeps a value that has changed already.
    """
    fact, stale = facts.writes.get(finding.place), {reader.place for reader in finding.related}
    named = {other.place for other in found if other.code == finding.code}
    earlier = (facts.writes.get(place) for place in fact.earlier - named) if fact is not None else ()
    return any(other is not None and not stale.isdisjoint(other.readers) for other in earlier)


def is_lost_to_relation(module: Module, fact: Fact, way: str) -> bool:
    """Whether an operation relates the old value to the new one, and reads neither by the name of a new tensor."""
    return any(way not in names for names in _relations(module, fact))


def renews_an_entry(fact: Fact, outside: bool) -> bool:
    """Whether a new tensor in a container leaves the reader with the old one, and is found by who is to have it.

    If nobody else has the old tensor, the reader has the very container. If others made it, they don't have one that is
    of this call alone, as ``dict(net.named_parameters())`` is. ``outside``: the reader is one of them.
    """
    return (fact.beside or not fact.containers) and (fact.computed or outside or not fact.own)


def is_related_by_caller(module: Module, fact: Fact) -> bool:
    """Whether a function that led to the write relates the old value to the new one."""
    return any(all(name.startswith("^") for name in names) for names in _relations(module, fact))


def _relations(module: Module, fact: Fact) -> Iterator[set[str]]:
    """Yield the names of both operands, for each operation that reads one written memory by two names."""
    for node in module.of(cst.BinaryOperation):
        left, right = (_names(module, fact, operand) for operand in (node.left, node.right))
        for memory in {memory for _, memory in left} & {memory for _, memory in right}:
            one, two = ({name for name, other in names if other is memory} for names in (left, right))
            if one != two:
                yield one | two


def _names(module: Module, fact: Fact, operand: cst.BaseExpression) -> set[tuple[str, Storage]]:
    """By which names an operand reads what was written."""
    ends = [operand, operand.attr] if isinstance(operand, cst.Attribute) else [operand]
    known = {name for end in ends for name in fact.readers.get(module.start(end), ())}
    return known if isinstance(operand, (cst.Name, cst.Attribute, cst.Subscript)) else set()
