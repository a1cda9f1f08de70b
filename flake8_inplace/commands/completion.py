"""``flake8-inplace --print-completion SHELL``: a script that lets a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import shtab

from ..cli import COMMANDS, SHELLS
from ..rules import RULES
from . import check, explain, fix

_OPTIONS = {"check": check.parsed, "fix": fix.parsed, "explain": explain.parsed}
"""The parsers of the commands that need no other package."""


def main(arguments: Sequence[str]) -> int:
    """Print the script for a shell."""
    [shell] = arguments
    print(shtab.complete(whole(), shell))
    return 0


def whole() -> argparse.ArgumentParser:
    """Return one parser for the command line, with the commands as its parts."""
    parser = argparse.ArgumentParser("flake8-inplace")
    parser.add_argument("--version", action="version", help="print the version")
    parser.add_argument("--print-completion", choices=SHELLS, help="print a completion script for a shell")
    commands = parser.add_subparsers(dest="command")
    for name, (_, purpose) in COMMANDS.items():
        given = [_OPTIONS[name]()] if name in _OPTIONS else []
        part = commands.add_parser(name, help=purpose, parents=given, add_help=not given)
        for action in part._actions:
            if action.metavar in ("FILE", "PATH"):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.metavar == "CODE":
                action.choices = list(RULES)
    return parser
