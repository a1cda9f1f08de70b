"""What a rule is. Each family of rules stands in the module of `hazards` that judges it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PACKED = Path(__file__).with_name("pages")
PAGES = _PACKED if _PACKED.is_dir() else Path(__file__).parents[1] / "docs" / "rules"
"""The folder with a page for each rule: packed into the wheel, in a checkout where it is written."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a row of the table of its module."""

    code: str
    name: str
    summary: str
    kind: str = ""  # the form of writing, or the kind of misuse, that it reports
    message: str = ""  # what a misuse does: "`x.add_(1)` <message>"
    other: str = ""  # what happens at the other place: "expanded", or "read as {name}"
    head: str = ""  # the same, if the other place is the head of a function or class
    effect: str = ""  # what goes wrong: "PyTorch raises"
    advice: str = ""  # what to write instead
    carrying: str = ""  # what to write instead where the values that are written have a gradient, if something else
    part: str = ""  # what to write instead of a method of a part of a tensor, or of one such as `fill_`
    family: str = ""  # what has to be switched on for it; on by default where this is empty
    fix: str = "unsafe"  # the best grade that `flake8-inplace fix` gives: "safe", "unsafe" or "never"
    silent: bool = False  # torch says nothing: it gives way to an error that the same write leads to
    happens: str = "overwritten"  # what happens at the place of the finding
    at_run_time: bool = True  # whether a run of the reported line can tell if the finding is right
    also: tuple[Rule, ...] = ()  # kinds of misuse that it reports too, in words of their own

    @property
    def default_on(self) -> bool:
        return not self.family

    def page(self) -> str:
        """Its documentation, as Markdown."""
        return (PAGES / f"{self.code}.md").read_text("utf-8")
