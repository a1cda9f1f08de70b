"""The build. With ``FLAKE8_INPLACE_COMPILE=1`` in the environment, mypyc compiles the analysis.

mypyc makes native classes of plain ones, and not of dataclasses with slots. So a copy of the sources is compiled, in
which each dataclass is written out: its ``__init__``, and what else the decorator adds. The ``.py`` files are installed
beside the compiled modules, which Python takes first.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from setuptools import setup

COMPILED = os.environ.get("FLAKE8_INPLACE_COMPILE") == "1"
REQUIRES = ["mypy==2.4.1"]
"""What the compilation needs. Another release may read the types in another way, or not compile some form."""
PACKAGE = "flake8_inplace"
FACTS = ("torchfacts/notation.py", "torchfacts/ops.py", "torchfacts/releases.py")
SOURCES = ("heap", "program", "trace", "hazards", "models", "interpreter", *FACTS)
INTERPRETED = frozenset({"sealed.py"})
"""Modules that stay as they are: a decorator that the copies do without."""
COPIES = Path("build", "spelled")
OPTIONS = [
    "--follow-imports=silent",
    "--ignore-missing-imports",
    "--no-warn-unreachable",  # the copies have no type checker's branches
    "--config-file=pyproject.toml",
]


def main() -> None:
    # A front end asks for the requirements first, by `egg_info`, when there is no mypyc yet.
    ready = COMPILED and "egg_info" not in sys.argv
    setup(setup_requires=REQUIRES if COMPILED else [], ext_modules=extensions() if ready else [])


def extensions() -> list[Any]:
    """Copy the package, write out the dataclasses of the copy, and have mypyc translate it to C."""
    from mypyc.build import mypycify  # only the compilation asks for it

    shutil.rmtree(COPIES, ignore_errors=True)
    shutil.copytree(PACKAGE, COPIES / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy("pyproject.toml", COPIES)
    chosen = [path.relative_to(COPIES) for source in SOURCES for path in modules(COPIES / PACKAGE / source)]
    for path in chosen:
        text = (COPIES / path).read_text(encoding="utf-8")
        (COPIES / path).write_text(written_out(text), encoding="utf-8")
    here = Path.cwd()
    os.chdir(COPIES)  # mypyc derives the names of the modules from the paths
    try:
        found: list[Any] = mypycify(
            [*OPTIONS, *map(str, chosen)],
            opt_level="1",
            debug_level="0",
            multi_file=True,
            group_name=PACKAGE,
            target_dir=str(here / "build" / "mypyc"),
        )
    finally:
        os.chdir(here)
    return found


def modules(source: Path) -> list[Path]:
    """The modules of a package that are compiled, or the one module."""
    if source.is_file():
        return [source]
    return sorted(path for path in source.glob("*.py") if path.name not in INTERPRETED | {"__init__.py"})


@dataclass(frozen=True)
class Field:
    """A field of a dataclass. ``default`` and ``factory`` are expressions; at most one of them is given."""

    name: str
    type: str
    default: str = ""
    factory: str = ""
    compared: bool = True

    @property
    def parameter(self) -> str:
        """The parameter of ``__init__``. A default that is made anew is None there."""
        if self.factory:
            return f"{self.name}: {self.type} | None = None"
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")

    @property
    def assignment(self) -> str:
        made = f"{self.factory}() if {self.name} is None else {self.name}" if self.factory else self.name
        return f"self.{self.name} = {made}"


def written_out(text: str) -> str:
    """The text of a module with its dataclasses written out."""
    tree, lines = ast.parse(text), text.splitlines()
    classes = [(node, made) for node in tree.body if isinstance(node, ast.ClassDef) and (made := decorator(node))]
    for node, made in reversed(classes):
        statements = [part for part in node.body if isinstance(part, ast.AnnAssign)]
        fields = [field(part) for part in statements]
        end = statements[-1].end_lineno or 0
        lines[end:end] = methods(node.name, fields, options(made))
        for part, one in zip(reversed(statements), reversed(fields), strict=True):
            lines[part.lineno - 1 : part.end_lineno] = [f"    {one.name}: {one.type}"]
        del lines[made.lineno - 1]
    if classes:
        after = next(node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
        lines[after.lineno : after.lineno] = IMPORTS
    return "\n".join(lines) + "\n"


IMPORTS = [
    "import dataclasses as _dataclasses, typing as _typing",
    f"from {PACKAGE}.program.sealed import fields_named as _fields_named",
]


def decorator(node: ast.ClassDef) -> ast.Call | None:
    """The decorator that makes a class a dataclass."""
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in ("dataclass", "sealed"):
            return one
    return None


def options(made: ast.Call) -> dict[str, bool]:
    """The options of a decorator."""
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in made.keywords}


def field(statement: ast.AnnAssign) -> Field:
    """The field that a statement declares: ``name: type``, with a default or ``= field(...)``."""
    name, kind, value = ast.unparse(statement.target), ast.unparse(statement.annotation), statement.value
    if value is None:
        return Field(name, kind)
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "field"):
        return Field(name, kind, ast.unparse(value))
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in value.keywords}
    factory = given.get("default_factory", "")
    compared = given.get("compare") != "False"
    return Field(name, kind, given.get("default", ""), f"({factory})" if factory else "", compared)


def methods(name: str, fields: list[Field], chosen: dict[str, bool]) -> list[str]:
    """The lines that a dataclass gets of its decorator."""
    names = [one.name for one in fields]
    lines = [
        f"__match_args__ = {tuple(names)!r}",
        "__dataclass_fields__: _typing.ClassVar[dict[str, _dataclasses.Field[_typing.Any]]] = "
        f"_fields_named({', '.join(map(repr, names))})",
        f"def __init__(self, {', '.join(one.parameter for one in fields)}) -> None:",
        *(f"    {one.assignment}" for one in fields),
    ]
    compared = [one.name for one in fields if one.compared]
    if chosen.get("eq", True):
        mine, theirs = (f"({''.join(f'{of}.{each}, ' for each in compared)})" for of in ("self", "other"))
        lines += [
            "def __eq__(self, other: object) -> bool:",
            f"    return {mine} == {theirs} if isinstance(other, {name}) else NotImplemented",
        ]
        if chosen.get("frozen"):
            lines += ["def __hash__(self) -> int:", f"    return hash({mine})"]
    return [f"    {line}" for line in lines]


if __name__ == "__main__":
    main()
