"""Results kept from one run to the next, for as long as nothing changes that they hang on.

What a file shows hangs on the files that it imports, on those that import it, and on modules that are not there. So a
result holds for one state of the project: the text of every Python file in it, the options, the facts and this
package. Any change to them leaves all results of the old state behind; only the last few states are kept.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import __version__, readings
from .analysis import Result
from .finding import Finding, Place, Related, Words
from .program.importers import is_walked, python_files
from .program.imports import Project

FOLDER = ".flake8_inplace_cache"
"""Where the command keeps its results, below the folder that it runs in."""
STATES = 4
"""How many states of a project are kept."""
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by flake8-inplace; see https://bford.info/cachedir/\n"


@dataclass(slots=True, eq=False)
class Cache:
    """Results in a folder. One object serves all files of a process; several processes may share the folder.

    A folder that cannot be written to, and whatever in it is no result, counts as empty.
    """

    folder: str
    _states: dict[tuple[object, ...], Path] = field(default_factory=dict)

    def result(self, text: str, path: str, options: str, project: Project | None, work: Callable[[], Result]) -> Result:
        """Return the result for a text that stands at a path: a kept one, or that of ``work``, which is then kept.

        ``options`` are all that it hangs on besides files. ``project`` are the files that imports are followed in, if
        they are. An unsaved text, and what could not be read whole, are not kept.
        """
        if os.environ.get(readings.VARIABLE) or (project is not None and project.is_unsaved(path, text)):
            return work()
        file = self._state(path, options, project) / f"{_digest(path)}.json"
        key = _digest(text)
        known = _read(file, key)
        if known is not None:
            return known
        result = work()
        if result.problem is None:
            self._keep(file, json.dumps({"text": key, **_written(result)}))
        return result

    def _state(self, path: str, options: str, project: Project | None) -> Path:
        """The folder with the results for the present state of the project that a file is in."""
        folders = tuple(dict.fromkeys(_folders(project, path))) if project is not None else ()
        asked = (options, project.refreshed if project is not None else 0, folders)
        if asked not in self._states:
            parts = [_tool(), options, os.getcwd(), *folders]
            for file in sorted({file for folder in folders for file in _files(folder)}):
                parts += (file, _content(file))
            self._states[asked] = Path(self.folder, _digest("\0".join(parts)))
        return self._states[asked]

    def _keep(self, file: Path, text: str) -> None:
        try:
            if not file.parent.is_dir():
                self._begin(file.parent)
            mine = file.with_suffix(f".{os.getpid()}")
            mine.write_text(text, "utf-8")
            os.replace(mine, file)
        except (OSError, ValueError):  # a cache that cannot be written to is none; ValueError: a lone surrogate
            return

    def _begin(self, state: Path) -> None:
        """Make the folder of a state, and remove those of the oldest ones."""
        state.mkdir(parents=True, exist_ok=True)
        (state.parent / "CACHEDIR.TAG").write_text(_TAG, "utf-8")
        (state.parent / ".gitignore").write_text("*\n", "utf-8")
        others = sorted((entry for entry in state.parent.iterdir() if _is_state(entry)), key=_age, reverse=True)
        for old in others[STATES:]:
            shutil.rmtree(old, ignore_errors=True)


def _is_state(entry: Path) -> bool:
    return len(entry.name) == len(_digest("")) and entry.is_dir() and not entry.is_symlink()


def _age(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _folders(project: Project, path: str) -> Iterator[str]:
    """The folder of a file's project, and those that its imports are looked for in, if they are not in that."""
    top = project.top(path)
    yield top
    for root in project.roots(path):
        if root.only is not None:
            yield from (os.path.join(root.folder, name) for name in sorted(root.only))
        elif not is_walked(root.folder, top):
            yield root.folder


def _files(folder: str) -> Iterator[str]:
    """The Python files in a folder; an installed package may be a file."""
    yield from python_files(folder)
    yield f"{folder}.py"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _content(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def _tool() -> str:
    """What tells this package, its facts and the Python that it runs on from others: their files are not read."""
    found = [__version__, sys.version]
    libcst = importlib.util.find_spec("libcst")
    for file in sorted(_own_files()) + ([libcst.origin] if libcst is not None and libcst.origin else []):
        status = os.stat(file)
        found += (file, str(status.st_size), str(status.st_mtime_ns))
    return "\n".join(found)


def _own_files() -> Iterable[str]:
    for folder, _, names in os.walk(os.path.dirname(__file__)):
        yield from (os.path.join(folder, name) for name in names if not name.endswith((".pyc", ".tmp")))


# Results as JSON


def _written(result: Result) -> dict[str, Any]:
    return {
        "findings": [
            [
                finding.code,
                _place(finding.place),
                _words(finding.words),
                _place(finding.saved_at) if finding.saved_at is not None else None,
                _words(finding.remedy),
                [_related(other) for other in finding.others],
                finding.conditions,
            ]
            for finding in result.findings
        ],
        "reveals": result.reveals,
    }


def _place(place: Place) -> list[int]:
    return [place.line, place.column]


def _related(related: Related) -> list[object]:
    return [_place(related.place), related.note, related.path, related.name]


def _words(words: Words) -> list[object]:
    return [part if isinstance(part, str) else _related(part) for part in words]


def _read(file: Path, key: str) -> Result | None:
    """Return a kept result; None if there is none for this text, or what stands there is no result."""
    try:
        data = json.loads(file.read_bytes())
        return _result(data) if data["text"] == key else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _result(data: dict[str, Any]) -> Result:
    findings = [
        Finding(
            str(code),
            _as_place(place),
            _as_words(words),
            _as_place(saved) if saved is not None else None,
            _as_words(remedy),
            tuple(map(_as_related, others)),
            tuple(map(str, conditions)),
        )
        for code, place, words, saved, remedy, others, conditions in data["findings"]
    ]
    return Result(tuple(findings), tuple((int(line), str(said)) for line, said in data["reveals"]))


def _as_place(data: list[Any]) -> Place:
    line, column = data
    return Place(int(line), int(column))


def _as_related(data: list[Any]) -> Related:
    place, note, path, name = data
    return Related(_as_place(place), str(note), str(path), str(name))


def _as_words(data: list[Any]) -> Words:
    return tuple(part if isinstance(part, str) else _as_related(part) for part in data)
