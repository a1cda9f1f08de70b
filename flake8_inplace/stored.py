"""Results as JSON, and the key of a cache: everything that results depend on besides the files of the project."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import readings
from .analysis import Result
from .finding import Edit, Finding, Fix, Place, Related, Words
from .program.sights import digest


def key(facts: Sequence[str], folder: str, options: Sequence[Any]) -> str:
    """Return a text that stands for this linter, the facts in use, the working directory and the options."""
    return json.dumps([_tool(), facts, folder, bool(os.environ.get(readings.VARIABLE)), options])


@cache
def _tool() -> list[str]:
    """Versions, and a digest of the linter's own files: a checkout changes without a new version."""
    home = Path(__file__).parent
    files = sorted(path for path in home.rglob("*") if path.suffix in (".py", ".json", ".so", ".pyd"))
    contents = "".join(f"{path.relative_to(home)} {digest(path.read_bytes())}\n" for path in files)
    return [digest(contents), version("libcst"), sys.version, sys.platform]


def written(result: Result) -> Any:
    """Convert a result to what JSON can hold; `read` converts it back."""
    return {
        "findings": [written_finding(finding) for finding in result.findings],
        "reveals": result.reveals,
        "readings": result.readings,
    }


def read(stored: Any) -> Result:
    """Convert it back. Raises ValueError, LookupError or TypeError for anything that `written` did not return."""
    return Result(
        tuple(_read_finding(each) for each in stored["findings"]),
        tuple((int(line), str(text)) for line, text in stored["reveals"]),
        readings=tuple(map(str, stored["readings"])),
    )


def written_finding(finding: Finding) -> Any:
    """As `written`, of one finding."""
    return [
        finding.code,
        _place(finding.place),
        _words(finding.words),
        finding.saved_at and _place(finding.saved_at),
        _words(finding.remedy),
        finding.conditions,
    ]


def written_fixes(fixes: Sequence[Fix | None]) -> Any:
    """As `written`, of what to do about some findings."""
    return [fix and [fix.title, fix.safe, [_edit(edit) for edit in fix.edits]] for fix in fixes]


def read_fixes(stored: Any) -> tuple[Fix | None, ...]:
    """As `read`."""
    return tuple(each and _read_fix(*each) for each in stored)


def _read_fix(title: Any, safe: Any, edits: Any) -> Fix:
    return Fix(str(title), bool(safe), tuple(_read_edit(*edit) for edit in edits))


def _edit(edit: Edit) -> Any:
    return [_place(edit.start), _place(edit.end), edit.text]


def _read_edit(start: Any, end: Any, text: Any) -> Edit:
    return Edit(_read_place(start), _read_place(end), str(text))


def _read_finding(stored: Any) -> Finding:
    code, place, words, saved_at, remedy, conditions = stored
    return Finding(
        str(code),
        _read_place(place),
        _read_words(words),
        saved_at and _read_place(saved_at),
        _read_words(remedy),
        tuple(map(str, conditions)),
    )


def _place(place: Place) -> list[int]:
    return [place.line, place.column]


def _read_place(stored: Any) -> Place:
    line, column = stored
    return Place(int(line), int(column))


def _words(words: Words) -> list[Any]:
    return [w if isinstance(w, str) else [_place(w.place), w.note, w.path, w.name] for w in words]


def _read_words(stored: Any) -> Words:
    return tuple(each if isinstance(each, str) else _read_related(each) for each in stored)


def _read_related(stored: Any) -> Related:
    place, note, path, name = stored
    return Related(_read_place(place), str(note), str(path), str(name))
