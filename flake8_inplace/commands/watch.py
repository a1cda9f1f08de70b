"""``flake8-inplace check --watch``: lint again whenever a file changes."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path

import watchfiles

from ..files import NOTEBOOK, UsageError
from .check import report
from .common import complain

WAIT = 200
"""How long, in milliseconds, the first run waits until changes are noted."""
PATIENCE = 1
"""How long, in seconds, Ctrl-C waits for the report of what was found."""
CONFIGURATION = ("setup.cfg", "tox.ini", ".flake8", "pyproject.toml")


_PASSED = watchfiles.DefaultFilter()


def matters(change: watchfiles.Change, path: str) -> bool:
    """Whether a report may depend on what changed."""
    return bool(_PASSED(change, path)) and path.endswith((".py", ".pyi", NOTEBOOK, *CONFIGURATION))


def main(given: argparse.Namespace) -> int:
    """Lint, and again after each change, until Ctrl-C."""
    folders = {str(path if path.is_dir() else path.parent) for path in (Path(), *map(Path, given.paths))}
    begun = False
    for changes in watchfiles.watch(*folders, watch_filter=matters, rust_timeout=WAIT, yield_on_timeout=True):
        if changes or not begun:
            begun = True
            lint_once(given)
            complain("waiting for changes; Ctrl-C ends")
    return 0


def lint_once(given: argparse.Namespace) -> None:
    """Lint in a process of its own, which reads configuration and files anew."""
    process = multiprocessing.get_context("spawn").Process(target=_report, args=(given,))
    process.start()
    try:
        process.join()
    except KeyboardInterrupt:  # the process got it as well
        process.join(PATIENCE)
        raise


def _report(given: argparse.Namespace) -> None:
    try:
        report(given)
    except UsageError as error:
        complain(str(error))
    sys.stdout.flush()
    os._exit(0)  # at once, whatever its processes still hold
