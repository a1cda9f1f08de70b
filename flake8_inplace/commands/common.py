"""What ``check`` and ``fix`` share: the files and flake8's options on the command line, and how trouble is told."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..checker import short
from ..files import FLAGS, WITH_VALUE, Project, Source, UsageError


def add_files(parser: argparse.ArgumentParser) -> None:
    """The paths, and the options that are handed on to flake8."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, or - for standard input; default: .")
    group = parser.add_argument_group("flake8's own options, as on its command line and in its configuration")
    for name in WITH_VALUE:
        group.add_argument(f"--{name}", metavar="VALUE")
    for name in FLAGS:
        group.add_argument(f"--{name}", action="store_true")


def project(given: argparse.Namespace) -> Project:
    """The files that the command line and flake8's configuration name. Raises UsageError."""
    values = vars(given)
    options = [f"--{name}={values[key]}" for name in WITH_VALUE if values[key := name.replace("-", "_")] is not None]
    options += [f"--{name}" for name in FLAGS if values[name.replace("-", "_")]]
    return Project([*options, "--", *given.paths])


def read(files: Project, path: str) -> Source | None:
    """The text of a file, or one line on standard error."""
    try:
        return files.read(path)
    except (OSError, ValueError) as error:
        complain(f"{path}: {reason(error)}")
        return None


def write(path: str, text: str) -> None:
    """Over what the file held; folders that are missing are made. Raises UsageError."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, "utf-8", "backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from error


def reason(error: Exception) -> str:
    """What went wrong, on one line."""
    return getattr(error, "strerror", None) or short(error)


def complain(message: str) -> None:
    """One line of trouble; the run goes on or ends with status 2."""
    print(f"flake8-inplace: {message}", file=sys.stderr)


def show(text: str) -> None:
    """Write to standard output, as UTF-8 whatever the terminal's encoding; what cannot be encoded is escaped."""
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
    sys.stdout.flush()
