"""What ``check`` and ``fix`` share: the files and flake8's options on the command line, and how trouble is told."""

from __future__ import annotations

import argparse
import os
import sys
from functools import cache
from pathlib import Path

from ..checker import short
from ..files import FLAGS, WITH_VALUE, Project, Source, UsageError

_HELP = {
    "select": "codes and prefixes to report",
    "extend-select": "more codes to report; those of a family that is off switch it on",
    "ignore": "codes not to report",
    "extend-ignore": "more codes not to report",
    "per-file-ignores": "codes not to report in some files: pattern:code",
    "exclude": "files and folders to leave out",
    "extend-exclude": "more files and folders to leave out",
    "filename": "patterns of the files to lint; default: *.py",
    "config": "the only configuration file to read",
    "append-config": "a configuration file to read as well",
    "stdin-display-name": "what to call standard input",
    "enable-extensions": "families to switch on",
    "inplace-ops": "operators and modules of your own",
    "inplace-frameworks": "packages over torch",
    "inplace-follow": "which imports to follow: project, off, or names of packages",
    "inplace-path": "more folders that imports are looked for in",
    "inplace-report": "which findings: all, or certain, those that any backward runs into",
    "inplace-torch": "the release of PyTorch that the code runs with, such as 2.6",
    "inplace-cache": "the folder to keep results in; default: .flake8_inplace_cache",
    "isolated": "read no configuration",
    "disable-noqa": "report what a noqa comment silences, too",
}


USAGE = "%(prog)s [options] [PATH ...]"
"""What is shown above an error: the list of all options would hide it."""


def add_files(parser: argparse.ArgumentParser) -> None:
    """The paths, and the options that are handed on to flake8."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, or - for standard input; default: .")
    group = parser.add_argument_group("flake8's own options, as on its command line and in its configuration")
    for name in WITH_VALUE:
        group.add_argument(f"--{name}", metavar="VALUE", help=_HELP[name])
    for name in FLAGS:
        group.add_argument(f"--{name}", action="store_true", help=_HELP[name])


def add_jobs(parser: argparse.ArgumentParser) -> None:
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", "-j", type=positive, default=cores, help="processes; default: all cores")
    parser.add_argument("--baseline", metavar="FILE", help="leave out the findings in this file")


def positive(word: str) -> int:
    if word.isdecimal() and int(word) > 0:
        return int(word)
    raise argparse.ArgumentTypeError(f"{word!r} is no positive number")


def flake8_arguments(given: argparse.Namespace) -> tuple[str, ...]:
    """The arguments that are flake8's, paths included."""
    values = vars(given)
    options = [f"--{name}={values[key]}" for name in WITH_VALUE if values[key := name.replace("-", "_")] is not None]
    options += [f"--{name}" for name in FLAGS if values[name.replace("-", "_")]]
    return (*options, "--", *given.paths)


def add_no_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-cache", action="store_true", help="neither read nor keep results of other runs")


def project(arguments: tuple[str, ...], caches: bool = False) -> Project:
    """The files that the command line and flake8's configuration name, once a process. Raises UsageError."""
    return _project(arguments, caches, os.getcwd())


@cache
def _project(arguments: tuple[str, ...], caches: bool, folder: str) -> Project:
    return Project(arguments, caches)


def begin(given: argparse.Namespace, caches: bool = False) -> tuple[Project, bool]:
    """The files of a run, with warnings for what has no effect, and whether every folder can be read."""
    files = project(flake8_arguments(given), caches)
    for warning in files.warnings():
        complain(warning)
    unreadable = list(files.unreadable())
    for folder in unreadable:
        complain(f"{folder}: Permission denied")
    return files, not unreadable


def start(arguments: tuple[str, ...], caches: bool = False) -> None:
    """Prepare a process of its own: read the configuration, which not every system hands on."""
    project(arguments, caches)


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
        folder = Path(path).parent
        if not folder.exists():
            folder.mkdir(parents=True)
            complain(f"made the folder {folder}")
        Path(path).write_text(text, "utf-8", "backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from error


def reason(error: Exception) -> str:
    """What went wrong, on one line and in plain words."""
    if isinstance(error, SyntaxError):
        return error.msg
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not text in the encoding {error.encoding}"
    return getattr(error, "strerror", None) or short(error) or "an error in flake8-inplace"


def count(number: int, noun: str) -> str:
    """A number of things: "1 finding", "2 findings"."""
    return f"{number} {noun}" + ("" if number == 1 else "es" if noun.endswith("x") else "s")


def coloured(choice: str, path: str | None = None) -> bool:
    """Whether to colour what is written to a file, or without one to standard output."""
    if choice != "auto":
        return choice == "always"
    if path is not None or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def complain(message: str) -> None:
    """One line of trouble; the run goes on or ends with status 2."""
    print(f"flake8-inplace: {message}", file=sys.stderr)


def show(text: str) -> None:
    """Write to standard output, as UTF-8 whatever the terminal's encoding; what cannot be encoded is escaped."""
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
    sys.stdout.flush()
