"""What is linted and what is silenced: files, notebooks, standard input, and flake8's own configuration.

Discovery, configuration, ``noqa`` and the selection of codes are flake8's, called and not imitated, so that the
command line and the plugin agree on them.
"""

from __future__ import annotations

import ast
import configparser
import json
import logging
import os
import re
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from flake8.discover_files import expand_paths
from flake8.exceptions import Flake8Exception
from flake8.formatting.base import BaseFormatter
from flake8.options.config import load_config
from flake8.options.parse_args import parse_args
from flake8.processor import FileProcessor
from flake8.style_guide import StyleGuideManager
from flake8.violation import Violation

from .checker import Checker, Settings
from .finding import Finding, Place
from .rules import FAMILIES, PREFIX, RULES, named

NOTEBOOK = ".ipynb"
CACHE = ".flake8_inplace_cache"
"""The folder that the command keeps results in."""
_SPACE = re.compile(r"[,\s]+")
_CODE = re.compile(r"[A-Z]{1,3}[0-9]{0,3}")

#: flake8's options that the command line hands on to it, with and without a value.
WITH_VALUE = (
    *("select", "extend-select", "ignore", "extend-ignore", "per-file-ignores", "exclude", "extend-exclude"),
    *("filename", "config", "append-config", "stdin-display-name", "enable-extensions"),
    *("inplace-ops", "inplace-frameworks", "inplace-follow", "inplace-path", "inplace-report"),
    *("inplace-torch", "inplace-cache"),
)
FLAGS = ("isolated", "disable-noqa")


@contextmanager
def _unread_configurations() -> Iterator[list[object]]:
    """Collect the paths of configuration files that flake8 cannot parse: it says so in its log only."""
    paths: list[object] = []

    def note(record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and len(record.args) == 2 and isinstance(record.args[1], Exception):
            paths.append(record.args[0])
        return True

    logger = logging.getLogger("flake8.options.config")
    logger.addFilter(note)
    try:
        yield paths
    finally:
        logger.removeFilter(note)


class UsageError(Exception):
    """The command cannot be carried out as it was given; the text is one line."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file as flake8 reads it; of a notebook, its code cells one under the other.

    ``origins`` holds, for each line of a notebook, the number of the code cell and the line in it.
    """

    path: str
    text: str
    origins: tuple[tuple[int, int], ...] = ()
    problems: tuple[tuple[Place, str], ...] = ()

    @property
    def lines(self) -> list[str]:
        return split_lines(self.text)


def split_lines(text: str) -> list[str]:
    """Lines with their ends, cut where Python cuts: form feeds and other separators stay inside."""
    parts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class Project:
    """The files to lint, and which findings in them count."""

    def __init__(self, arguments: Sequence[str], caches: bool = False) -> None:
        """Read flake8's configuration. ``arguments`` are those of flake8, paths included.

        ``caches``: keep results for the next run, in the folder that the configuration names, or in ``CACHE``.
        """
        Checker.alone, Checker.settings = False, Settings()
        try:
            with _unread_configurations() as self._unread:
                _, self.options = parse_args(arguments)
        except (Flake8Exception, ValueError, configparser.Error) as error:  # ValueError: a code that is none
            raise UsageError(" ".join(str(error).split())) from error
        self.options.enable_extensions = _extensions(arguments)  # flake8 keeps it to itself
        # Run from a checkout, the plugin is not registered, and flake8 would not know that the prefix is wanted.
        self.options.extended_default_select = [*self.options.extended_default_select, PREFIX]
        families = named(self._words("select", "extend_select", "enable_extensions"))
        kept = (Checker.settings.cache or os.path.abspath(CACHE)) if caches else ""
        Checker.settings = replace(Checker.settings, extra=Checker.settings.extra | families, cache=kept)
        ignored = self.options.extended_default_ignore or []
        self.options.extended_default_ignore = [word for word in ignored if FAMILIES.get(word) not in families]
        self._guides = StyleGuideManager(self.options, _Silent(self.options))

    def _words(self, *options: str) -> list[str]:
        given = [getattr(self.options, option, None) or () for option in options]
        return [word for words in given for word in (_SPACE.split(words) if isinstance(words, str) else words) if word]

    def warnings(self) -> Iterator[str]:
        """Yield what is wrong with the configuration: a code of no rule selects, and silences, nothing."""
        yield from (f"{path}: cannot be parsed; flake8 ignores it" for path in self._unread)
        for option in ("select", "extend_select", "ignore", "extend_ignore", "enable_extensions"):
            for word in self._words(option):
                name = option.replace("_", "-")
                if not _CODE.fullmatch(word):
                    yield f"{name}: {word!r} is no code"
                elif word.startswith(PREFIX) and not any(code.startswith(word) for code in RULES):
                    yield f"{name}: no rule has the code {word}; `flake8-inplace explain --list` shows all"
                elif option == "enable_extensions" and word.startswith(PREFIX) and word not in FAMILIES:
                    yield f"{name}: {word} is no family that is off by default; those are {', '.join(FAMILIES)}"

        chosen = self._words("select", "extend_select")
        if self.options.select and not any(word.startswith(PREFIX) or PREFIX.startswith(word) for word in chosen):
            yield f"select: it names no code of {PREFIX}, so nothing is reported"

    def unreadable(self) -> Iterator[str]:
        """Yield the folders that cannot be read. flake8 passes over them without a word."""
        problems: list[OSError] = []
        for given in self.options.filenames or (".",):
            for folder, inner, _ in os.walk(given, onerror=problems.append):
                inner[:] = [name for name in inner if not self._excluded(os.path.join(folder, name))]
        yield from (str(problem.filename) for problem in problems if isinstance(problem, PermissionError))

    def _excluded(self, path: str) -> bool:
        names = (os.path.basename(path), os.path.abspath(path))
        return any(fnmatch(name, pattern) for name in names for pattern in self.options.exclude)

    def last_line(self, path: str, line: int) -> int:
        """Return the line that a ``noqa`` comment for a line goes on: the last one of what flake8 takes as one."""
        processor = self._processor(path, None)
        joined = processor.noqa_line_for(line) or ""
        last = len(processor.lines) if "\n" in joined.rstrip("\n") else line
        while line < last and processor.noqa_line_for(line + 1) == joined:
            line += 1
        return line

    def paths(self) -> list[str]:
        """Every file to lint, in the order of their names: once, even if it is given as `net.py` and as `./net.py`."""
        found = expand_paths(
            paths=self.options.filenames,
            stdin_display_name=self.options.stdin_display_name,
            filename_patterns=[*self.options.filename, f"*{NOTEBOOK}"],
            exclude=self.options.exclude,
        )
        kept: dict[str, str] = {}
        for path in found:
            kept.setdefault(path if path == "-" else os.path.abspath(path), path)
        return sorted(kept.values())

    def read(self, path: str) -> Source:
        """The text of a file. Raises OSError and ValueError where there is none."""
        if path.endswith(NOTEBOOK):
            return read_notebook(path, Path(path).read_bytes())
        name = self.options.stdin_display_name if path == "-" else path
        try:
            text = "".join(self._processor(path, None).lines)
        except LookupError as error:  # a codec from bytes to bytes, such as rot13
            raise ValueError(" ".join(str(error).partition(";")[0].split())) from error
        return Source(name, text, problems=_encoding_problems(path) if path != "-" else ())

    def counts(self, source: Source, findings: Sequence[Finding]) -> list[bool]:
        """For each finding, whether neither the configuration nor a comment silences it."""
        if not findings:
            return []
        processor = self._processor(source.path, source.lines)
        if processor.should_ignore_file():
            return [False] * len(findings)
        return [self._wanted(source.path, finding, processor) for finding in findings]

    def _wanted(self, path: str, finding: Finding, processor: FileProcessor) -> bool:
        try:
            line = processor.noqa_line_for(finding.line)
        except (SyntaxError, SystemError, tokenize.TokenError):
            # Of a file that is no Python, the line as it stands. Of a null byte Python 3.12 makes a SystemError.
            line = "".join(processor.lines[finding.line - 1 : finding.line])
        reported = self._guides.handle_error(
            finding.code, path, finding.line, finding.column, finding.message, line or ""
        )
        return bool(reported)

    def _processor(self, path: str, lines: list[str] | None) -> FileProcessor:
        return FileProcessor(path, self.options, lines)


def _encoding_problems(path: str) -> tuple[tuple[Place, str], ...]:
    """What Python says to the encoding that a file declares; flake8 reads it all the same."""
    with open(path, "rb") as file:
        try:
            tokenize.detect_encoding(file.readline)
        except SyntaxError as error:
            return ((Place(1, 0), error.msg),)
    return ()


def _extensions(arguments: Sequence[str]) -> str:
    """Return the value of ``enable-extensions``: from the command line or flake8's configuration."""

    def given(option: str) -> list[str]:
        return [word.partition("=")[2] for word in arguments if word.startswith(f"--{option}=")]

    if switches := given("enable-extensions"):
        return ",".join(switches)
    files = given("config")
    read, _ = load_config(files[-1] if files else None, given("append-config"), isolated="--isolated" in arguments)
    found = (read.get("flake8", name, fallback="") for name in ("enable_extensions", "enable-extensions"))
    return next(filter(None, found), "")


class _Silent(BaseFormatter):
    """Writes nothing: reports are made later, of findings and not of lines."""

    def handle(self, error: Violation) -> None:
        """Take note of nothing."""


# Notebooks


#: Cell magics that run their cell as Python.
_TRANSPARENT = ("%%capture", "%%prun", "%%time", "%%timeit")


def read_notebook(path: str, content: bytes) -> Source:
    """The code cells of a notebook as one program: a cell uses what the cells above have made."""
    try:
        notebook = json.loads(content)
        cells = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        texts = [cell if isinstance(cell, str) else "".join(cell) for cell in cells]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError("not a notebook of version 4") from error
    return joined(path, texts)


def joined(path: str, texts: Sequence[str]) -> Source:
    """The texts of code cells as one program."""
    lines: list[str] = []
    origins: list[tuple[int, int]] = []
    problems: list[tuple[Place, str]] = []
    for number, text in enumerate(texts, 1):
        cell = cell_lines(text)
        python, problem = without_magics(cell)
        if problem:
            problems.append((Place(len(lines) + 1, 0), problem))
        lines += python
        origins += [(number, line) for line in range(1, len(cell) + 1)]
    return Source(path, "".join(lines), tuple(origins), tuple(problems))


def cell_lines(text: str) -> list[str]:
    """The lines of a cell; the last one ends, too, for another cell follows."""
    return [line if line.endswith("\n") else f"{line}\n" for line in split_lines(text)]


def without_magics(cell: list[str]) -> tuple[list[str], str]:
    """The lines of a cell with IPython's own put out of the way, and what is wrong with the rest; lines stay lines."""
    blank = ["\n"] * len(cell)
    first = next((line.strip() for line in cell if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_TRANSPARENT):
        return blank, ""
    if not _problem(cell):  # `%` may begin a line of ordinary Python
        return cell, ""
    python = []
    continued = False
    for line in cell:
        bare = line.strip()
        value = bare.partition("=")[2].strip()
        magic = continued or bare.startswith(("%", "!", "?")) or bare.endswith("?") or value.startswith(("%", "!"))
        continued = magic and bare.endswith("\\")
        python.append(f"{line[: len(line) - len(line.lstrip())]}pass\n" if magic else line)
    problem = _problem(python)
    return (blank, problem) if problem else (python, "")


def _problem(lines: list[str]) -> str:
    try:
        ast.parse("".join(lines))
    except (SyntaxError, ValueError) as error:
        return f"not valid Python: {getattr(error, 'msg', error)}"
    return ""
