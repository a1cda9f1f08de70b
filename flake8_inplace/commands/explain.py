"""``flake8-inplace explain``: the documentation of the rules in the terminal."""

from __future__ import annotations

import argparse
import os
import pydoc
import sys
from collections.abc import Sequence

from ..cli import USAGE_ERROR
from ..rules import RULES
from .common import coloured, complain


def main(arguments: Sequence[str]) -> int:
    """Print the pages of the codes given, or the table of all."""
    parser = parsed()
    given = parser.parse_args(arguments)
    if given.list:
        width = max(len(rule.name) for rule in RULES.values())
        for rule in RULES.values():
            print(f"{rule.code}  {rule.name:<{width}}  {rule.summary}{'' if rule.default_on else ' (off by default)'}")
        return 0
    if not given.codes:
        parser.error("name a code, or say --list")
    names = {rule.name: code for code, rule in RULES.items()}
    status, pages = 0, list[str]()
    for word in given.codes:
        code = names.get(word.lower(), word.upper())
        if code not in RULES:
            complain(f"{word}: no such rule; `flake8-inplace explain --list` shows all")
            status = USAGE_ERROR
            continue
        pages.append(RULES[code].page())
    if pages:
        present("\n".join(pages))
    return status


def present(text: str) -> None:
    """Show Markdown: on a terminal in a pager, laid out if rich is installed, and elsewhere as it is."""
    if not sys.stdout.isatty():
        print(text, end="")
        return
    pydoc.pager(laid_out(text))


def laid_out(text: str) -> str:
    """Return Markdown as a terminal shows it; unchanged if rich isn't installed."""
    try:
        from rich.console import Console
        from rich.markdown import Markdown
    except ImportError:
        return text
    colour = coloured("auto")
    if colour:
        os.environ.setdefault("LESS", "-R")  # less shows colours only if it is told so
    console = Console(force_terminal=colour, no_color=not colour, width=min(Console().width, 100))
    with console.capture() as shown:
        console.print(Markdown(text))
    page: str = shown.get()
    return page


def parsed() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("flake8-inplace explain", description="Show the page of a rule.")
    parser.add_argument("codes", nargs="*", metavar="CODE", help="the code of a rule, or its name")
    parser.add_argument("--list", action="store_true", help="one line for each rule")
    return parser
