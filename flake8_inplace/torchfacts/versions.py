"""The rows that differ between releases of PyTorch: `python -m flake8_inplace.torchfacts.versions [RESULT ...]`.

Prints them as a table in Markdown. Results are files of `ops --verify --facts NEWEST --json RESULT`, one of each
release. Given those, it first writes "older" of `ops.json` anew, and docs/verification/versions.json.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from .generate import render
from .ops import TABLE, table
from .releases import FIRST, Range, Release, format_row, release_of

RESULT = Path(__file__).parents[2] / "docs" / "verification" / "versions.json"
FIELDS = ("saves", "writes", "outs", "inplace")


class Row(NamedTuple):
    """A row that held for some releases, and the one that the newest has in its place, if any."""

    older: str
    newest: str | None


def differing(results: Mapping[Release, Mapping[str, Any]]) -> dict[tuple[str, str | None], list[str]]:
    """Return the rows of older releases, each with its range and the newest row, and the names that they are of."""
    releases = sorted(results)
    found: dict[tuple[str, str | None, str], dict[Release, str]] = defaultdict(dict)
    for release in releases:
        for difference in results[release]["operators"]["differences"]:
            for name in difference["names"]:
                params = difference["here"].split("|")[1]
                found[name, difference["fact"], params][release] = difference["here"]
    rows: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for (name, fact, _), seen in sorted(found.items(), key=str):
        for row in ranged(releases, seen):
            rows[row, fact].append(name)
    return rows


def ranged(releases: Sequence[Release], seen: Mapping[Release, str]) -> Iterator[str]:
    """Write the rows that were seen in some of the releases with the range of each.

    Between two releases that were measured, the older row holds.
    """
    for row, group in groupby(enumerate(releases), lambda item: seen.get(item[1])):
        places = [place for place, _ in group]
        if row is not None:
            if places[-1] + 1 == len(releases):
                raise SystemExit(f"the newest release differs from its own facts: {row}")
            since = releases[places[0]] if places[0] else FIRST
            yield format_row(row, Range(since, releases[places[-1] + 1]))


def summary(results: Mapping[Release, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Say of each release what was run, and how much of it held."""
    return [
        {
            **{key: result[key] for key in ("torch", "python", "platform")},
            "held": result["operators"]["held"],
            "differ": len(result["operators"]["differences"]),
            "no_call": len(result["operators"]["no_call"]),
        }
        for _, result in sorted(results.items())
    ]


def write(paths: Sequence[str]) -> None:
    """Write both files from the results of `ops --verify`."""
    found = [json.loads(Path(path).read_bytes()) for path in paths]
    results = {release_of(result["torch"]): result for result in found}
    rows = differing(results)
    older: dict[str, list[str]] = defaultdict(list)
    for (row, _), names in rows.items():
        for name in names:
            older[name].append(row)
    TABLE.write_text(render(table() | {"older": older}), encoding="utf-8")
    listed = [{"names": names, "older": row, "newest": newest} for (row, newest), names in rows.items()]
    RESULT.write_text(json.dumps({"releases": summary(results), "rows": listed}, indent=1) + "\n", encoding="utf-8")


def markdown() -> str:
    """The differing rows, as a table in Markdown."""
    known = json.loads(RESULT.read_bytes())
    releases = "\n".join(f"| {r['torch']} | {r['held']} | {r['differ']} | {r['no_call']} |" for r in known["releases"])
    rows = "\n".join(line(**row) for row in known["rows"])
    return (
        f"| torch | rows that hold | rows that differ | without a call |\n|---|---|---|---|\n{releases}\n\n"
        f"| operator | releases | then | now |\n|---|---|---|---|\n{rows}"
    )


def line(names: Sequence[str], older: str, newest: str | None) -> str:
    """Show how a row differed: the fields that did, and its range."""
    bare, _, during = older.partition(" @torch")
    fields = [field for field in FIELDS if newest is None or shown(bare, field) != shown(newest, field)]
    then = "; ".join(f"{field} {shown(bare, field)}" for field in fields)
    now = "; ".join(f"{field} {shown(newest, field)}" for field in fields) if newest is not None else "no such operator"
    return f"| {', '.join(f'`{name}`' for name in names)} | `{during}` | {then} | {now} |"


def shown(row: str, field: str) -> str:
    """A field of a row, as code."""
    words = dict(zip(FIELDS, [*row.split("|")[2:], *[""] * 4], strict=False))[field]
    return f"`{words}`" if words else "nothing"


def main(paths: Sequence[str]) -> int:
    if paths:
        write(paths)
    print(markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
