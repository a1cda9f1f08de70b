"""What is linted and what is silenced: files, notebooks, standard input, and flake8's own configuration.

Discovery, configuration, ``noqa`` and the selection of codes are flake8's, called and not imitated, so that the
command line and the plugin agree on them.
"""

from __future__ import annotations

import ast
import json
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flake8.discover_files import expand_paths
from flake8.exceptions import Flake8Exception
from flake8.formatting.base import BaseFormatter
from flake8.options.parse_args import parse_args
from flake8.processor import FileProcessor
from flake8.style_guide import StyleGuideManager
from flake8.violation import Violation

from .finding import Finding, Place
from .rules import PREFIX

NOTEBOOK = ".ipynb"

#: flake8's options that the command line hands on to it, with and without a value.
WITH_VALUE = (
    *("select", "extend-select", "ignore", "extend-ignore", "per-file-ignores", "exclude", "extend-exclude"),
    *("filename", "config", "append-config", "stdin-display-name"),
)
FLAGS = ("isolated", "disable-noqa")


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

    def __init__(self, arguments: Sequence[str]) -> None:
        """Read flake8's configuration. ``arguments`` are those of flake8, paths included."""
        try:
            _, self.options = parse_args(arguments)
        except (Flake8Exception, ValueError) as error:  # ValueError: a code that is none
            raise UsageError(" ".join(str(error).split())) from error
        # Run from a checkout, the plugin is not registered, and flake8 would not know that the prefix is wanted.
        self.options.extended_default_select = [*self.options.extended_default_select, PREFIX]
        self._guides = StyleGuideManager(self.options, _Silent(self.options))

    def paths(self) -> list[str]:
        """Every file to lint, in the order of their names."""
        found = expand_paths(
            paths=self.options.filenames,
            stdin_display_name=self.options.stdin_display_name,
            filename_patterns=[*self.options.filename, f"*{NOTEBOOK}"],
            exclude=self.options.exclude,
        )
        return sorted(set(found))

    def read(self, path: str) -> Source:
        """The text of a file. Raises OSError and ValueError where there is none."""
        if path.endswith(NOTEBOOK):
            return read_notebook(path, Path(path).read_bytes())
        name = self.options.stdin_display_name if path == "-" else path
        return Source(name, "".join(self._processor(path, None).lines))

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
        raise ValueError(f"not a notebook of version 4: {type(error).__name__}: {error}") from error
    lines: list[str] = []
    origins: list[tuple[int, int]] = []
    problems: list[tuple[Place, str]] = []
    for number, text in enumerate(texts, 1):
        cell = [line if line.endswith("\n") else f"{line}\n" for line in split_lines(text)]
        python, problem = without_magics(cell)
        if problem:
            problems.append((Place(len(lines) + 1, 0), problem))
        lines += python
        origins += [(number, line) for line in range(1, len(cell) + 1)]
    return Source(path, "".join(lines), tuple(origins), tuple(problems))


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
        return f"{type(error).__name__}: {getattr(error, 'msg', error)}"
    return ""
