"""Releases of PyTorch, and the range of them that a row holds for: `relu|self:T|result<self||fresh @torch<2.6`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

Release = tuple[int, int]
"""Major and minor number. A patch changes no fact."""
FIRST: Release = (0, 0)
NEWEST: Release = (sys.maxsize, 0)
NEVER: Release = (sys.maxsize, 1)
_MARK = "@torch"
_COMPARISON = re.compile(r"(>=|<)(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Range:
    """Releases in a row."""

    since: Release = FIRST
    before: Release = NEVER  # the first release for which the row no longer holds

    def __contains__(self, release: Release) -> bool:
        return self.since <= release < self.before


def release_of(text: str) -> Release:
    """Read `2.6`, `2.6.1` or `2.6.0+cu124`. Raises ValueError."""
    found = re.fullmatch(r"(\d+)\.(\d+)([.+].*)?", text)
    if found is None:
        raise ValueError(f"{text!r} is no release of PyTorch; write it like 2.6")
    return int(found[1]), int(found[2])


def split_row(row: str) -> tuple[str, Range]:
    """Return a row without its range, and the range: every release, if the row names none. Raises ValueError."""
    bare, mark, words = row.partition(_MARK)
    return bare.rstrip(), _range(words) if mark else Range()


def _range(words: str) -> Range:
    """Read `<2.6`, `>=2.8` or `>=2.6,<2.8`."""
    found = [_COMPARISON.fullmatch(word.strip()) for word in words.split(",")]
    limits = {match[1]: release_of(match[2]) for match in found if match is not None}
    if len(limits) < len(found):
        like = f"'{_MARK}<2.6' or '{_MARK}>=2.6,<2.8'"
        raise ValueError(f"'{_MARK}{words}' is no range of releases; write it like {like}")
    return Range(limits.get(">=", FIRST), limits.get("<", NEVER))


def format_row(row: str, held: Range) -> str:
    """Write a row with its range; the inverse of `split_row`."""
    limits = ((">=", held.since, FIRST), ("<", held.before, NEVER))
    words = [f"{sign}{release[0]}.{release[1]}" for sign, release, open_end in limits if release != open_end]
    return f"{row} {_MARK}{','.join(words)}" if words else row
