"""The pages of the rules, executed: does PyTorch do what a page says?"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..rule import Rule
from ..rules import RULES, UNREADABLE
from .device import progress


@dataclass(frozen=True, slots=True)
class Page:
    """What a rule's page claims: two programs, and the error of the bad one, None where PyTorch says nothing."""

    bad: str
    good: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Example:
    """What the two programs of a page did, in words, and whether it is what the page says."""

    bad: str
    bad_confirmed: bool
    good: str
    good_clean: bool

    @property
    def as_expected(self) -> bool:
        return self.bad_confirmed and self.good_clean


def sections(path: Path) -> dict[str, str]:
    """The text under each heading of a page."""
    parts = re.split("^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {heading: text for heading, _, text in (part.partition("\n") for part in parts)}


def fenced(text: str, language: str) -> list[str]:
    """The blocks of a language in a Markdown text."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def read_page(path: Path) -> Page:
    """The claims of the page at a path."""
    found = sections(path)
    [bad], [good] = fenced(found["Bad"], "python"), fenced(found["Good"], "python")
    return Page(bad, good, next(iter(fenced(found["What PyTorch says"], "text")), None))


def execute(source: str, device: torch.device) -> dict[str, Any]:
    """Run a program whose new tensors are made on a device; the names it leaves behind."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "documentation"}
    with warnings.catch_warnings(), torch.device(device):
        warnings.simplefilter("ignore")  # torch only warns of a write to expanded memory
        exec(compile(source, "<documentation>", "exec"), names)
    return names


def try_rule(rule: Rule, page: Page, device: torch.device) -> Example:
    """Run both programs of a page and compare with what it says."""
    good = attempt(page.good, device)
    bad = attempt(page.bad, device)
    if any(isinstance(ran, TypeError) and "device type tensor to numpy" in str(ran) for ran in (good, bad)):
        nothing = "does not apply: numpy has no memory there"
        return Example(nothing, True, nothing, True)
    did, confirmed = judge_bad(rule, page, bad, good)
    return Example(did, confirmed, say(good) if isinstance(good, Exception) else "runs", isinstance(good, dict))


def attempt(source: str, device: torch.device) -> dict[str, Any] | Exception:
    """What a program leaves behind, or the exception that ended it."""
    try:
        return execute(source, device)
    except Exception as error:
        return error


def judge_bad(
    rule: Rule, page: Page, bad: dict[str, Any] | Exception, good: dict[str, Any] | Exception
) -> tuple[str, bool]:
    """What the bad program did, and whether it should have."""
    if page.error is not None:
        if not isinstance(bad, Exception):
            return "runs, though it should raise", False
        as_quoted = isinstance(bad, RuntimeError | AttributeError) and plain(page.error) in plain(str(bad))
        return ("raises, as quoted", True) if as_quoted else (say(bad), False)
    if isinstance(bad, Exception):
        return say(bad), False
    if rule is UNREADABLE or rule.family == "style":
        return "runs: nothing to confirm", True
    if isinstance(good, Exception):
        return "runs, and there is no good gradient to compare with", False
    try:
        differs = not torch.allclose(bad["x"].grad, good["x"].grad)
    except Exception as error:  # no x, no gradient, or a device that holds no values
        return say(error), False
    return ("another gradient", True) if differs else ("the same gradient as the good one", False)


def plain(text: str) -> str:
    """An error without line breaks and without the device in the names of tensor types."""
    return re.sub(r"torch\.\w+\.(\w*Tensor)", r"torch.\1", " ".join(text.split()))


def say(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"


def try_rules(pages: Path, device: torch.device) -> dict[str, Example]:
    """Every rule's example, by code."""
    examples = {}
    for done, (code, rule) in enumerate(RULES.items(), 1):
        examples[code] = try_rule(rule, read_page(pages / f"{code}.md"), device)
        progress(done, len(RULES), "rules")
    return examples
