"""What ``check`` and ``fix`` share: the files and flake8's options on the command line, and how trouble is told."""

from __future__ import annotations

import argparse
import sys

from ..files import FLAGS, WITH_VALUE, Project, Source


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
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        complain(f"{path}: {reason}")
        return None


def complain(message: str) -> None:
    """One line of trouble; the run goes on or ends with status 2."""
    print(f"flake8-inplace: {message}", file=sys.stderr)


def show(text: str) -> None:
    """Write to standard output, as UTF-8 whatever the terminal's encoding; what cannot be encoded is escaped."""
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
    sys.stdout.flush()
