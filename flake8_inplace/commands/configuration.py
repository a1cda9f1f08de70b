"""The table ``[tool.flake8-inplace]`` of pyproject.toml, for the command. flake8 itself does not read that file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import WITH_VALUE, UsageError
from .common import complain

TABLE = "flake8-inplace"
_PATHS = frozenset({"inplace-ops", "baseline", "config", "append-config", "inplace-cache"})
_OWN = ("format", "jobs", "baseline")
KEYS = frozenset({*WITH_VALUE, *_OWN})


def configured(own: tuple[str, ...] = _OWN) -> list[str]:
    """Return the arguments that the nearest pyproject.toml stands for. Raises UsageError.

    ``own`` are the options that the command has besides those of flake8.
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            return _arguments(path, own)
    return []


def _arguments(path: Path, own: tuple[str, ...]) -> list[str]:
    text = path.read_text("utf-8", "replace")
    if "tool.flake8" not in text:
        return []
    try:
        tomllib = importlib.import_module("tomllib")
    except ModuleNotFoundError:  # Python 3.10
        complain(f"{path.name}: [tool.{TABLE}] is read with Python 3.11 or later only")
        return []
    try:
        tables = tomllib.loads(text, parse_float=str).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    if "flake8" in tables and TABLE not in tables:
        complain(f"{path.name}: flake8 does not read [tool.flake8]; for this command, name it [tool.{TABLE}]")
    table = tables.get(TABLE, {})
    unknown = sorted(set(table) - KEYS)
    if unknown:
        raise UsageError(f"{path}: [tool.{TABLE}] has no option {unknown[0]!r}")
    return [f"--{key}={_value(key, value, path)}" for key, value in table.items() if key in (*WITH_VALUE, *own)]


def _value(key: str, value: Any, path: Path) -> str:
    """Return a value as the command line has it. Paths are relative to the file that they stand in."""
    if isinstance(value, Mapping):  # per-file-ignores
        return ",".join(f"{pattern}:{code}" for pattern, codes in value.items() for code in _words(codes))
    words = _words(value)
    if key in _PATHS:
        words = [os.path.join(path.parent, word) for word in words]
    return ",".join(words)


def _words(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
