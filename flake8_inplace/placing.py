"""Where a finding stands, if what leads to it lies in several files.

A finding stands in the file that is linted: at the overwriting line, or at the innermost call on the way to it. What
other files do to themselves is left to them: the file of the function in which the ways to the save and to the write
part reports it, so each hazard is reported once, whichever files are linted.
"""

from __future__ import annotations

from collections.abc import Sequence

from .program.site import Site


def stand(write: Site, calls: Sequence[Site], beside: Sequence[Site], file: str) -> Site | None:
    """Return where a write is reported in ``file``; None if it is for another file to report.

    ``calls`` lead to the write. ``beside`` leads to the save, or to the read, and has it at its end if it is known.
    """
    if write.piece.path == file:
        return write
    way = [*calls, write]
    joint = next((k for k, pair in enumerate(zip(way, beside, strict=False)) if pair[0] is not pair[1]), len(beside))
    own = [site for site in way[joint:] if _is_call(site, file)]
    if joint < len(way) and way[joint].piece.path == file and own:
        return own[-1]
    if beside and beside[-1].piece.path == file and joint < len(beside):
        calls_here = [site for site in way if _is_call(site, file)]
        return calls_here[-1] if calls_here else beside[-1]
    return None


def _is_call(site: Site, file: str) -> bool:
    """Whether a site is a call in a file; an entry point is called by nobody."""
    return site.piece.path == file and site.node is not site.expression
