"""Where a finding stands, if what leads to it lies in several files.

The ways to the save and to the write part in some function. From there on, a finding stands in the file of the save, if
the way to the write comes through it, and else in the file of that function: at the overwriting line, or at the
innermost call on the way to it. Each hazard so has one place, whichever files are linted. What parts in an installed
package is reported where the project calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .program.site import Site


def stand(
    write: Site, calls: Sequence[Site], beside: Sequence[Site], is_installed: Callable[[str], bool]
) -> Site | None:
    """Return where a write is reported; None if no line of the project is on the way.

    ``calls`` lead to the write. ``beside`` leads to the save, or to the read, and has it at its end if it is known.
    """
    way = [*calls, write]
    joint = next((k for k, pair in enumerate(zip(way, beside, strict=False)) if pair[0] is not pair[1]), len(beside))
    joint = min(joint, len(way) - 1)
    while joint >= 0 and is_installed(way[joint].piece.path):
        joint -= 1
    if joint < 0:
        return None
    paths = {site.piece.path for site in way[joint:]}
    origin = beside[-1].piece.path if joint < len(beside) else ""
    path = origin if origin in paths and not is_installed(origin) else way[joint].piece.path
    return next(site for site in (*reversed(way[joint:]), way[joint]) if site.piece.path == path)
