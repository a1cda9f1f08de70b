"""The formats of a report: text, and what other tools read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from . import __version__
from .report import Entry, Spot, grade, level, text
from .rules import RULES

TOOL = "flake8-inplace"


def as_json(found: Sequence[Entry], colour: bool = False) -> str:
    """One object: the findings in order, each with its positions, its fingerprint and its fix."""
    rows = []
    for entry in found:
        row: dict[str, Any] = {"path": entry.path, "code": entry.code, "name": rule_name(entry.code)}
        row |= {"message": entry.message, "help": entry.help, **position(entry.at), "end_column": entry.at.end}
        row |= {"level": entry.level, "conditions": list(entry.conditions), "fingerprint": entry.fingerprint}
        row["related"] = [
            {"path": spot.path or entry.path, **position(spot), "end_column": spot.end, "note": spot.note}
            for spot in entry.related
        ]
        row["fix"] = asdict(entry.fix) if entry.fix else None
        rows.append(row)
    return dump({"version": 2, "tool": {"name": TOOL, "version": __version__}, "findings": rows})


def position(spot: Spot) -> dict[str, int]:
    cell = {} if spot.cell is None else {"cell": spot.cell}
    return {**cell, "line": spot.line, "column": spot.column}


def rule_name(code: str) -> str:
    return RULES[code].name if code in RULES else code


def sarif(found: Sequence[Entry], colour: bool = False, tool: str = TOOL) -> str:
    """SARIF 2.1.0, as code scanning services read it."""
    reported = {entry.code for entry in found}
    codes = sorted(reported | set(RULES))
    run = {
        "tool": {
            "driver": {
                "name": tool,
                "version": __version__,
                "rules": [sarif_rule(code, code in reported) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The directory that the linter was run in."}}},
        "results": [sarif_result(entry, codes.index(entry.code)) for entry in found],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return dump({"$schema": schema, "version": "2.1.0", "runs": [run]})


def sarif_rule(code: str, reported: bool) -> dict[str, Any]:
    """A rule; one that reports something brings its page along, and the address of the first of its references.

    The pages themselves are on no web site, so the address is what PyTorch documents of the matter.
    """
    if code not in RULES:  # of another plugin, by way of the formatter
        return {"id": code}
    rule = RULES[code]
    described: dict[str, Any] = {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": level(code), "enabled": rule.default_on},
    }
    if reported:
        page = rule.page()
        described["fullDescription"] = {"text": explanation(page)}
        described["help"] = {"text": page, "markdown": page}
        if address := re.search(r"^## References\n.*?\((https://[^)\s]+)\)", page, re.DOTALL | re.MULTILINE):
            described["helpUri"] = address[1]
    return described


def explanation(page: str) -> str:
    """The first paragraph of a page, without its Markdown."""
    body = re.search(r"^## What it does\n+(.+?)\n\n", page, re.DOTALL | re.MULTILINE)
    return " ".join(body[1].replace("`", "").split()) if body else ""


def sarif_result(entry: Entry, index: int) -> dict[str, Any]:
    cell = "" if entry.at.cell is None else f"Cell {entry.at.cell}, line {entry.at.line}: "
    result: dict[str, Any] = {
        "ruleId": entry.code,
        "ruleIndex": index,
        "level": entry.level,
        "message": {"text": cell + "; ".join(filter(None, (entry.linked, entry.note, entry.help)))},
        "locations": [sarif_location(entry.path, entry.at)],
        "partialFingerprints": {"inplace/v1": entry.fingerprint},
    }
    if entry.conditions:
        result["properties"] = {"conditions": list(entry.conditions)}
    if entry.related:
        result["relatedLocations"] = [
            {"id": number, **sarif_location(spot.path or entry.path, spot), "message": {"text": spot.note}}
            for number, spot in enumerate(entry.related, 1)
        ]
    if entry.fix and entry.at.cell is None:
        replacements = [
            {
                "deletedRegion": {
                    "startLine": edit.start.line,
                    "startColumn": edit.start.column + 1,
                    "endLine": edit.end.line,
                    "endColumn": edit.end.column + 1,
                },
                "insertedContent": {"text": edit.text},
            }
            for edit in entry.fix.edits
        ]
        change = {"artifactLocation": artifact(entry.path), "replacements": replacements}
        title = {"text": f"{entry.fix.title} ({grade(entry.fix)})"}
        result["fixes"] = [{"description": title, "artifactChanges": [change]}]
    return result


def sarif_location(path: str, spot: Spot) -> dict[str, Any]:
    """Of a notebook, the file and the cell: its lines are not those of the file that holds it."""
    physical: dict[str, Any] = {"artifactLocation": artifact(path)}
    if spot.cell is not None:
        return {"physicalLocation": physical, "logicalLocations": [{"name": f"cell {spot.cell}, line {spot.line}"}]}
    physical["region"] = {"startLine": spot.line, "startColumn": spot.column, "endLine": spot.line}
    physical["region"]["endColumn"] = spot.end
    if spot.text:
        physical["region"]["snippet"] = {"text": spot.text}
    return {"physicalLocation": physical}


def artifact(path: str) -> dict[str, str]:
    if PurePath(path).is_absolute():
        return {"uri": PurePath(path).as_uri()}
    return {"uri": quote(path.removeprefix("./"), errors="surrogateescape"), "uriBaseId": "%SRCROOT%"}


def github(found: Sequence[Entry], colour: bool = False) -> str:
    """GitHub's workflow commands: each finding becomes an annotation at its line."""
    rows = []
    for entry in found:
        values = {"file": entry.path, "title": f"{entry.code} {rule_name(entry.code)}"}
        message = entry.message
        if entry.at.cell is None:
            values |= {"line": str(entry.at.line), "col": str(entry.at.column)}
        else:
            message = f"cell {entry.at.cell}, line {entry.at.line}: {message}"
        message = "\n".join(filter(None, (message, entry.note, entry.help)))
        properties = ",".join(f"{key}={escaped(value, ':,')}" for key, value in values.items())
        rows.append(f"::{entry.level} {properties}::{escaped(message)}\n")
    return "".join(rows)


def escaped(value: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        value = value.replace(character, f"%{ord(character):02X}")
    return value


def gitlab(found: Sequence[Entry], colour: bool = False) -> str:
    """GitLab's code quality report."""
    return dump(
        [
            {
                "description": described(entry),
                "check_name": entry.code,
                "fingerprint": entry.fingerprint,
                "severity": "minor" if entry.level == "warning" else "major",
                "location": {
                    "path": entry.path.removeprefix("./"),
                    # in a notebook, no line of the file
                    "lines": {"begin": entry.at.line if entry.at.cell is None else 1},
                },
            }
            for entry in found
        ]
    )


def described(entry: Entry) -> str:
    """A finding on one line, with its cell if it is in a notebook."""
    cell = "" if entry.at.cell is None else f"cell {entry.at.cell}, line {entry.at.line}: "
    return f"{entry.code} {cell}" + "; ".join(filter(None, (entry.message, entry.note, entry.help)))


def dump(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Sequence[Entry], bool], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
    "gitlab": gitlab,
}
