"""Imports run one way. The rooms of the house stand here in order: each may know those before it and none after it."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import flake8_inplace

PACKAGE = Path(flake8_inplace.__file__).parent

#: Every module and sub-package, from what knows nothing to what knows all. Whoever adds one decides where it stands.
ORDER = [
    "__init__",
    "finding",
    "torchfacts",
    "torchfacts.ops",
    "torchfacts.modules",
    "torchfacts.recipes",
    "torchfacts.execution",
    "torchfacts.schemas",
    "torchfacts.generate",
    "analysis.domain",
    "analysis.variables",
    "analysis.reach",
    "analysis.tree",
    "analysis.scan",
    "analysis.machine",
    "rules",
    "analysis.stale",
    "analysis.kept",
    "analysis.slices",
    "analysis.tensors",
    "analysis.classes",
    "analysis.containers",
    "analysis.custom",
    "analysis.calls",
    "analysis.transfer",
    "analysis.interpreter",
    "analysis",
    "checker",
    "fix.syntax",
    "fix.scope",
    "fix.forms",
    "fix.carried",
    "fix.copies",
    "fix",
    "report",
    "files",
    "formatter",
    "cli",
    "commands",
    "commands.common",
    "commands.check",
    "commands.fix",
    "commands.explain",
    "runtime.device",
    "runtime.frames",
    "runtime.arrays",
    "runtime.report",
    "runtime.tensors",
    "runtime.ledger",
    "runtime.watch",
    "runtime.patches",
    "runtime.sanitizer",
    "runtime.outcome",
    "runtime.project",
    "runtime.verify",
    "runtime.pytest_plugin",
    "runtime.conformance",
    "runtime.memory",
    "runtime",
    "__main__",
]

#: Rooms that know less than their place in the order would allow, imports for annotations apart.
KNOWS_ONLY = {
    "rules": {"finding", "analysis.domain"},
    "analysis.domain": set(),
    "analysis.tree": {"finding"},
    "torchfacts.ops": {"torchfacts"},
    "torchfacts.modules": {"torchfacts", "torchfacts.ops"},
}

#: What builds the table of facts. It runs PyTorch, and nothing that lints imports it.
DEVELOPMENT = {"torchfacts.recipes", "torchfacts.schemas", "torchfacts.execution", "torchfacts.generate"}

#: Who may import what from outside the standard library, imports for annotations apart.
OUTSIDE = {
    "torch": {"runtime", *DEVELOPMENT},
    "torchgen": DEVELOPMENT,
    "flake8": {"checker", "files", "formatter"},
    "matplotlib": {"runtime.memory"},
    "libcst": {"analysis", "fix"},
    "numpy": {"runtime.arrays"},
    "pytest": {"runtime.pytest_plugin"},
}


def name_of(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
each_module = pytest.mark.parametrize("name", MODULES)


def imported(name: str, annotations: bool = True) -> Iterator[str]:
    """Full names of what a module imports anywhere in its text, `if TYPE_CHECKING` included or not."""
    path = MODULES[name]
    package = ["flake8_inplace", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text())
    if not annotations:
        tree.body = [node for node in tree.body if not is_type_checking(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield full if room(full) != room(source) else source


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def room(full: str) -> str | None:
    """The room of this package that a full name stands in; None for what is outside."""
    if full != "flake8_inplace" and not full.startswith("flake8_inplace."):
        return None
    inside = full.removeprefix("flake8_inplace").removeprefix(".")
    while inside and inside not in MODULES:
        inside = inside.rpartition(".")[0]
    return inside or "__init__"


def test_every_module_has_its_place() -> None:
    assert sorted(set(MODULES) - set(ORDER)) == []
    assert sorted(set(ORDER) - set(MODULES)) == []


def known(name: str, annotations: bool = True) -> set[str]:
    return {found for full in imported(name, annotations) if (found := room(full)) is not None} - {name}


@each_module
def test_knows_only_what_stands_before_it(name: str) -> None:
    assert sorted(known(name) - set(ORDER[: ORDER.index(name)])) == []
    if name in KNOWS_ONLY:
        assert sorted(known(name, annotations=False) - KNOWS_ONLY[name]) == []


def test_development_code_is_not_loaded() -> None:
    """Conformance executes the facts with what made them."""
    assert {name for name in MODULES if known(name) & DEVELOPMENT} <= DEVELOPMENT | {"runtime.conformance"}


def test_codes_are_written_in_one_room() -> None:
    assert [name for name, path in MODULES.items() if name != "rules" and re.search(r"TIP\d", path.read_text())] == []


@each_module
def test_outside_packages(name: str) -> None:
    top = name.split(".")[0]
    for full in imported(name, annotations=False):
        package = full.split(".")[0]
        if package not in sys.stdlib_module_names and package != "flake8_inplace":
            assert {name, top} & OUTSIDE.get(package, set()), f"{name} imports {full}"


@pytest.mark.parametrize("module", ["flake8_inplace", "flake8_inplace.checker", "flake8_inplace.rules"])
def test_importing_is_cheap(module: str) -> None:
    code = f"import sys, {module}; print(*({{'torch', 'libcst', 'numpy'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
