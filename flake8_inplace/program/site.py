"""A place in the program text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pieces import Piece
from .sealed import sealed

if TYPE_CHECKING:
    import libcst as cst


@sealed(frozen=True, slots=True, eq=False)
class Site:
    """A place of the program text: the token that positions are reported at, and the expression around it."""

    piece: Piece
    node: cst.CSTNode
    expression: cst.CSTNode
