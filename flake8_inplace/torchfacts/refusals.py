"""Look-up of the memory that PyTorch refuses to overwrite, by operator; measured, and kept in `refusals.json`.

Operators are named as in `Op.name`, and one of their operands as in ``index_add_:source``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from .kinds import SELECTING
from .notation import Op
from .ops import FactsError

TABLE = Path(__file__).with_name("refusals.json")


@cache
def _words(kind: str) -> frozenset[str]:
    try:
        return frozenset(json.loads(TABLE.read_bytes())[kind].split())
    except (OSError, KeyError, ValueError) as error:
        raise FactsError(f"{TABLE}: unreadable table of refusals ({error}); reinstall flake8-inplace") from error


def harmless_to_expanded(op: str) -> bool:
    """Whether it does to expanded memory what it does to a copy: it fills all of it, or changes its shape alone."""
    return op in _words("harmless_to_expanded")


def spoils_expanded(op: Op) -> bool:
    """Whether it changes every row of expanded memory where a mask or an index means one, and torch lets it."""
    return op.name in _words("spoils_expanded") and any(p.name in SELECTING for p in op.params)


def reshapes(op: str) -> bool:
    """Whether it gives the tensor another shape and leaves the values in memory alone."""
    return op in _words("reshapes")


def takes_expanded(op: str) -> bool:
    """Whether torch lets it overwrite expanded memory."""
    return op in _words("harmless_to_expanded") or op in _words("spoils_expanded")


def backward_refuses_expanded(op: str) -> bool:
    """Whether the backward raises after it has overwritten expanded memory that requires grad."""
    return op in _words("backward_refuses_expanded")


def refuses_overlap(op: str, operand: str) -> bool:
    """Whether an operand may not share any memory with what the operator overwrites, not even as the same elements."""
    return f"{op}:{operand}" in _words("refuses_overlap")


def out_refuses_expanded(op: str) -> bool:
    """Whether ``out=`` may not be expanded memory."""
    return op in _words("out_refuses_expanded")


def out_refuses_overlap(op: str, operand: str) -> bool:
    """Whether ``out=`` may not be other elements of the memory of an operand."""
    return f"{op}:{'self' if operand == 'input' else operand}" in _words("out_refuses_overlap")


def refuses_grad(op: str) -> bool:
    """Whether the in-place operator may not overwrite what requires grad."""
    return op in _words("refuses_grad")


def without_derivative(op: str) -> bool:
    """Whether the backward of the in-place operator raises."""
    return op in _words("without_derivative")


@cache
def negative_options(op: str) -> tuple[str, ...]:
    """The options of which the backward of the in-place operator raises if all of them are negative."""
    found = [word.partition(":")[2] for word in _words("refuses_negative") if word.partition(":")[0] == op]
    return tuple(found[0].split("+")) if found else ()
