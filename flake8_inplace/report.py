"""How findings are shown: to people, and to the tools that read them."""

from __future__ import annotations

import ast
import hashlib
import re
import tokenize
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path, PurePath

from .finding import Finding, Fix, Place, Related, needed, said
from .rules import RULES, UNREADABLE


@dataclass(frozen=True, slots=True)
class Spot:
    """A position as it is shown: line and column from 1, in a notebook the cell as well, and the text of the line.

    ``note`` says what happens there. ``path`` is the file, if it is another than that of the finding.
    """

    line: int
    column: int
    text: str = ""
    cell: int | None = None
    note: str = ""
    path: str = ""

    @property
    def end(self) -> int:
        """The column after the name or operator that stands there."""
        found = _TOKEN.match(self.text, self.column - 1)
        return found.end() + 1 if found else self.column


_TOKEN = re.compile(r"\w+|[\[(]|[^\w\s\[(]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding in one file. ``fingerprint`` stays the same while the lines around it come and go.

    ``linked`` is the message with links to the ``related`` places, as SARIF writes them: ``[line 17](1)``.
    """

    path: str
    code: str
    message: str
    at: Spot
    help: str = ""
    linked: str = ""
    conditions: tuple[str, ...] = ()
    related: tuple[Spot, ...] = ()
    fingerprint: str = ""
    fix: Fix | None = None

    @property
    def level(self) -> str:
        return "warning" if self.conditions else level(self.code)

    @property
    def note(self) -> str:
        return needed(self.conditions)


def entries(
    path: str,
    source: str,
    findings: Sequence[Finding],
    origins: Sequence[tuple[int, int]] = (),
    fixes: Sequence[Fix | None] = (),
) -> list[Entry]:
    """The entries of one file; ``fixes`` run along with the findings, ``origins`` (of a notebook) with the lines."""
    lines = source.split("\n")

    def spot(place: Place, note: str = "", other: str = "") -> Spot:
        rows = _lines_of(other) if other else lines
        text = rows[place.line - 1] if place.line <= len(rows) else ""
        known = not other and place.line <= len(origins)
        cell, line = origins[place.line - 1] if known else (None, place.line)
        return Spot(line, place.column + 1, text, cell, note, relative_path(other) if other else "")

    def where(related: Related) -> str:
        shown = spot(related.place)
        return str(related) if shown.cell is None else f"cell {shown.cell}, line {shown.line}"

    relative = relative_path(path)
    result = []
    for finding, scope, fix in zip_longest(findings, scopes(source, findings), fixes):
        at = spot(finding.place)
        others = finding.related
        linked = said(finding.words, partial(link, others, where))
        related = tuple(spot(other.place, other.note, other.path) for other in others)
        mark = fingerprint(relative, finding.code, scope, at.text)
        message, remedy = said(finding.words, where), said(finding.remedy, where)
        rest = finding.conditions, related, mark, fix
        result.append(Entry(relative, finding.code, message, at, remedy, linked, *rest))
    return numbered(result)


def link(others: Sequence[Related], where: Callable[[Related], str], other: Related) -> str:
    """A place as SARIF links it: by its number among the related locations."""
    return f"[{where(other)}]({others.index(other) + 1})"


@cache
def _lines_of(path: str) -> Sequence[str]:
    """The lines of another file, which only the excerpts need; none if it cannot be read."""
    try:
        with tokenize.open(path) as file:
            return file.read().split("\n")
    except (OSError, SyntaxError, ValueError):
        return ()


def scopes(text: str, found: Sequence[Finding]) -> Iterator[str]:
    """The qualified name of the function or class that each finding stands in."""
    try:
        todo: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # reported as unreadable already
        todo = []
    spans: list[tuple[int, int, str]] = []
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{child.name}"
                spans.append((child.lineno, child.end_lineno or child.lineno, name))
                todo.append((child, f"{name}."))
            else:
                todo.append((child, prefix))
    for finding in found:
        inside = [span for span in spans if span[0] <= finding.line <= span[1]]
        yield max(inside)[2] if inside else ""


def fingerprint(*parts: str) -> str:
    """A name for a finding that does not hold its line: path, code, function and the text without its spacing."""
    text = "\0".join(" ".join(part.split()) for part in parts)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def numbered(found: Sequence[Entry]) -> list[Entry]:
    """Tell apart the entries that would have the same fingerprint, by their order."""
    seen: Counter[str] = Counter()
    result = []
    for entry in found:
        seen[entry.fingerprint] += 1
        count = seen[entry.fingerprint]
        unique = entry.fingerprint if count == 1 else fingerprint(entry.fingerprint, str(count))
        result.append(replace(entry, fingerprint=unique))
    return result


def level(code: str) -> str:
    """Return how serious a finding under this code is, if it has no conditions."""
    return "error" if code in RULES and code != UNREADABLE.code else "warning"


def relative_path(path: str) -> str:
    """A path as seen from the working directory where it lies below it, with forward slashes."""
    pure = PurePath(path)
    if pure.is_absolute() and pure.is_relative_to(Path.cwd()):
        pure = pure.relative_to(Path.cwd())
    return pure.as_posix()


_COLOURS = {"path": "1", "code": "1;31", "rule": "34", "write": "31", "save": "36", "fix": "32"}


def text(found: Sequence[Entry], colour: bool = False) -> str:
    """Each finding with all of its places, and the fix, or else what to write instead."""
    paint = _painting(colour)
    blocks = []
    for entry in found:
        rows = [_headline(entry, paint)]
        if entry.at.text:
            rows += excerpts(entry, paint)
        rows += [f"{paint('note', 'rule')}: {entry.note}"] if entry.note else []
        if entry.fix:
            rows.append(f"{paint('fix', 'fix')} ({grade(entry.fix)}): {entry.fix.title}")
        elif entry.help:
            rows.append(f"{paint('help', 'fix')}: {entry.help}")
        blocks.append("\n".join(rows) + "\n")
    return "\n".join(blocks)


def concise(found: Sequence[Entry], colour: bool = False) -> str:
    """Each finding on one line."""
    paint = _painting(colour)
    return "".join(f"{_headline(entry, paint)}\n" for entry in found)


def _painting(colour: bool) -> Callable[[str, str], str]:
    return lambda part, kind: f"\033[{_COLOURS[kind]}m{part}\033[0m" if colour else part


def _headline(entry: Entry, paint: Callable[[str, str], str]) -> str:
    cell = "" if entry.at.cell is None else f"cell_{entry.at.cell}:"
    place = f"{cell}{entry.at.line}:{entry.at.column}"
    return f"{paint(entry.path, 'path')}:{place}: {paint(entry.code, 'code')} {entry.message}"


def excerpts(entry: Entry, paint: Callable[[str, str], str]) -> list[str]:
    """The lines of a finding, in the order of the text; those of other files after them."""
    rule = RULES.get(entry.code)
    own = f"{rule.happens if rule is not None else 'overwritten'} here" if entry.related else "here"
    same = [spot for spot in entry.related if (spot.path, spot.cell, spot.line, spot.column) == _where(entry.at)]
    shown = [replace(entry.at, note=", ".join([*(spot.note.removesuffix(" here") for spot in same), own]))]
    shown += [spot for spot in entry.related if spot.text and spot not in same]
    width = max(len(str(spot.line)) for spot in shown)
    rows: list[str] = []
    previous = None
    for spot in sorted(shown, key=lambda spot: (spot.path, spot.cell or 0, spot.line, spot.column)):
        kind = "write" if spot is shown[0] else "save"
        pad = "".join(character if character == "\t" else " " * columns(character) for character in before(spot))
        bar, number = paint("|", "rule"), paint(f"{spot.line:>{width}}", "rule")
        place = (spot.path, spot.cell, spot.line)
        if previous is not None and spot.path != previous[0]:
            rows.append(paint(f"{spot.path}:", "rule"))
        elif previous is not None and place[:2] == previous[:2] and spot.line > previous[2] + 1:
            rows.append(paint("...", "rule"))
        if place != previous:
            rows.append(f"{number} {bar} {spot.text}")
        rows.append(f"{' ' * width} {bar} {pad}{paint(f'^ {spot.note}', kind)}")
        previous = place
    return rows


def _where(spot: Spot) -> tuple[str, int | None, int, int]:
    return spot.path, spot.cell, spot.line, spot.column


def grade(fix: Fix) -> str:
    return "safe" if fix.safe else "unsafe"


def before(spot: Spot) -> str:
    return spot.text[: spot.column - 1]


def columns(character: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
