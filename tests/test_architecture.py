"""Imports run one way. The rooms of the house stand here in order: each may know those before it and none after it."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import flake8_inplace
from flake8_inplace.hazards import CHECKERS
from flake8_inplace.models import refusals
from flake8_inplace.rules import RULES

PACKAGE = Path(flake8_inplace.__file__).parent

#: The rooms, from what knows nothing to what knows all: a module stands in the room with the longest name it begins
#: with. Whoever adds a room decides where it stands.
ORDER = [
    "__init__",
    "finding",
    "rule",
    "torchfacts",
    "program",
    "heap",
    "trace",
    "hazards",
    "models",
    "interpreter",
    "rules",
    "placing",
    "sentences",
    "verdicts",
    "readings",
    "analysis",
    "cache",
    "stored",
    "cpython",
    "checker",
    "fix",
    "report",
    "formats",
    "files",
    "formatter",
    "cli",
    "commands",
    "runtime",
    "__main__",
]

#: Rooms and modules that know less than their place in the order would allow, imports for annotations apart.
KNOWS_ONLY = {
    "rules": {"rule", "hazards"},
    "placing": {"program"},
    "sentences": {"finding", "rule", "hazards", "torchfacts"},
    "verdicts": {"finding", "rule", "rules", "placing", "sentences", "hazards"},
    "program": {"finding", "torchfacts"},
    "heap": {"program"},
    "trace": {"program", "heap"},
    "models": {"torchfacts", "program", "heap", "trace"},
    "hazards": {"rule", "torchfacts", "program", "heap", "trace"},
}

#: What builds the table of facts. It runs PyTorch, and nothing that lints imports it.
DEVELOPMENT = {
    f"torchfacts.{name}"
    for name in "handwritten recipes aten_recipes layer_recipes schemas execution common variations learning refused "
    "samples layers generate words coverage versions library_calls".split()
}

#: Who may import what from outside the standard library, imports for annotations apart.
OUTSIDE = {
    "torch": {"runtime", *DEVELOPMENT},
    "torchgen": DEVELOPMENT,
    "flake8": {"checker", "files", "formatter"},
    "matplotlib": {"runtime.memory"},
    "pygls": {"commands.server"},
    "lsprotocol": {"commands.server"},
    "watchfiles": {"commands.watch"},
    "rich": {"commands.explain"},
    "shtab": {"commands.completion"},
    "libcst": {"sentences", "program", "trace", "hazards", "models", "interpreter", "fix"},
    "numpy": {"runtime.arrays", "runtime.readers"},
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


def house(name: str) -> str:
    """The room that a module stands in."""
    while name not in ORDER:
        name = name.rpartition(".")[0]
        assert name, "this module stands in no room of ORDER"
    return name


def known(name: str, annotations: bool = True) -> set[str]:
    return {found for full in imported(name, annotations) if (found := room(full)) is not None} - {name}


@each_module
def test_knows_only_what_stands_before_it(name: str) -> None:
    before = ORDER[: ORDER.index(house(name)) + 1]
    assert sorted(other for other in known(name) if house(other) not in before) == []
    if house(name) in KNOWS_ONLY:
        others = {house(other) for other in known(name, annotations=False)} - {house(name)}
        assert sorted(others - KNOWS_ONLY[house(name)]) == []


def test_no_module_imports_itself_in_a_circle() -> None:
    left = {name: known(name) - {house(name)} for name in MODULES}  # a package knows what stands in it
    while ready := [name for name, others in left.items() if not others & left.keys()]:
        for name in ready:
            del left[name]
    assert left == {}


def test_development_code_is_not_loaded() -> None:
    """Conformance executes the facts with what made them, and so do the kernels that it calls in a trace."""
    verifying = {"runtime.conformance", "runtime.kernels"}
    assert {name for name in MODULES if known(name) & DEVELOPMENT} <= DEVELOPMENT | verifying


def test_codes_are_written_where_the_rule_is_judged() -> None:
    """And TIP000, which nothing judges, beside the table."""
    written = {house(name) for name, path in MODULES.items() if re.search(r"TIP\d", path.read_text())}
    assert written == {"hazards", "rules"}


def test_every_checker_is_asked() -> None:
    """A module with rules, or with triggers for the prefilter, that is not in CHECKERS would be silent."""
    found = [importlib.import_module(f"flake8_inplace.{name}") for name in MODULES if name.startswith("hazards.")]
    assert {module for module in found if hasattr(module, "RULES") or hasattr(module, "TRIGGERS")} == set(CHECKERS)


def refused_kinds(path: Path) -> Iterator[str]:
    """Kinds of misuse that a module spells: arguments of `m.refuse`, and what a function `refusal` returns."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "refuse":
            yield from strings(node.args[0])
        elif isinstance(node, ast.FunctionDef) and node.name == "refusal":
            returns = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
            yield from filter(None, [kind for value in returns if value is not None for kind in strings(value)])


def strings(node: ast.expr) -> Iterator[str]:
    """The string literals that an expression may be: f-strings are none, nor is what a condition compares with."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp | ast.BoolOp):
        for option in node.values if isinstance(node, ast.BoolOp) else (node.body, node.orelse):
            yield from strings(option)


def test_every_misuse_has_a_rule() -> None:
    kinds = {each.kind for rule in RULES.values() for each in (rule, *rule.also)} - {""}
    spelled = [kind for path in MODULES.values() for kind in refused_kinds(path)]
    assert {"leaf view", "expand", "expanded", "overlap", "style compiled"} <= set(spelled)
    assert sorted({*spelled, *refusals.REFUSED_VIEWS.values()} - kinds) == []


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


@each_module
def test_can_be_read_in_ten_minutes(name: str) -> None:
    """A room with more lines holds two things; a function with more does two."""
    text = MODULES[name].read_text()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= 60]
    assert len(text.splitlines()) <= 450
    assert long == []
