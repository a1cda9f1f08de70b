"""Baselines: known findings, which are not reported again."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from ..files import UsageError
from ..report import Entry
from .common import reason

FORMAT = 1

Baseline = dict[str, Mapping[str, str]]
"""The rows of a baseline by their fingerprints."""


def read_baseline(path: str) -> Baseline:
    """Read a baseline. Raises UsageError."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
        version = data.get("version", FORMAT)
        rows: Baseline = {row["fingerprint"]: {**row, "path": row.get("path", "")} for row in data["findings"]}
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such baseline; --write-baseline makes one") from error
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: not a baseline of flake8-inplace") from error
    if not isinstance(version, int) or version > FORMAT:
        raise UsageError(f"{path}: a baseline of format {version}, which this version of flake8-inplace cannot read")
    return rows


def gone(known: Baseline, found: Iterable[Entry], linted: Collection[str]) -> Baseline:
    """Return the rows that no finding matches any more, of the files that were linted or that are no more."""
    left = {entry.fingerprint for entry in found}
    return {
        mark: row
        for mark, row in known.items()
        if mark not in left and (row["path"] in linted or not os.path.exists(row["path"]))
    }


def merged(known: Baseline, found: Sequence[Entry], linted: Collection[str]) -> str:
    """Return a baseline with these findings, and the known ones of the files that were not linted.

    One line for each finding, in order, so that a review shows what comes and goes.
    """
    old = gone(known, (), linted)
    rows = {mark: dict(row) for mark, row in known.items() if mark not in old}
    for entry in found:
        row = {"fingerprint": entry.fingerprint, "path": entry.path, "code": entry.code, "text": entry.at.text.strip()}
        rows[entry.fingerprint] = row
    ordered = sorted(rows.values(), key=lambda row: row["path"])  # a stable sort: in a file, as they were found
    lines = ",\n".join(json.dumps(row) for row in ordered)
    return f'{{"version": {FORMAT}, "findings": [\n{lines}\n]}}\n'
