"""The build that mypyc compiles: what it writes out for dataclasses, and that it finds what the pure one finds."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
assert _spec is not None and _spec.loader is not None
build = importlib.util.module_from_spec(_spec)
sys.modules["setup"] = build  # where its dataclass looks for its annotations
_spec.loader.exec_module(build)

SITE = os.environ.get("FLAKE8_INPLACE_COMPILED", "")
"""The folder that the compiled package was installed to, by ``pip install --target``."""
needs_site = pytest.mark.skipif(not SITE, reason="FLAKE8_INPLACE_COMPILED names no folder with the compiled package")

SAMPLE = '''
from __future__ import annotations
from dataclasses import dataclass, field

@dataclass(frozen=True, slots=True)
class Point:
    """With a docstring."""

    x: int
    y: int = 2  # a comment
    name: str = field(default="", compare=False)

    def moved(self) -> Point:
        return Point(self.x + 1, self.y)


@dataclass(slots=True, eq=False)
class Bag:
    items: dict[str,
                int] = field(default_factory=dict)
    more: list[int] = field(default_factory=lambda: [1])
'''


def run(text: str) -> dict[str, Any]:
    module = types.ModuleType("sample")
    sys.modules["sample"] = module
    exec(text, module.__dict__)
    return module.__dict__


@pytest.fixture(params=["decorated", "written out"])
def sample(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The sample as it is, and written out: both have to pass."""
    written = build.written_out(SAMPLE)
    assert "@dataclass" not in written
    return run(SAMPLE if request.param == "decorated" else written)


def test_equality_and_hash(sample: dict[str, Any]) -> None:
    Point = sample["Point"]
    assert Point(1) == Point(1, 2, "other") != Point(1, 3)
    assert Point(1) != (1, 2)
    assert len({Point(1), Point(1, name="a"), Point(2)}) == 2
    assert Point(1).moved() == Point(2)


def test_identity_without_eq(sample: dict[str, Any]) -> None:
    Bag = sample["Bag"]
    one, other = Bag(), Bag()
    assert one != other
    assert len({one, other}) == 2


def test_factories(sample: dict[str, Any]) -> None:
    one, other = sample["Bag"](), sample["Bag"](more=[])
    one.items["a"] = 1
    assert (one.more, other.items, other.more) == ([1], {}, [])


def test_replaced_and_matched(sample: dict[str, Any]) -> None:
    Point = sample["Point"]
    match dataclasses.replace(Point(1, name="a"), y=5):
        case Point(x, 5, name):
            assert (x, name) == (1, "a")
        case _:
            pytest.fail("not matched")


def test_every_module_of_the_analysis_is_compiled() -> None:
    """A new module is compiled without a word in setup.py."""
    chosen = {path for source in build.SOURCES for path in build.modules(ROOT / build.PACKAGE / source)}
    rooms = [ROOT / build.PACKAGE / room for room in build.SOURCES if not room.endswith(".py")]
    left = {path for room in rooms for path in room.glob("*.py")} - chosen
    assert {path.name for path in left} == {"__init__.py", *build.INTERPRETED}


def dumped(out: Path, trees: list[Path], path: str) -> list[str]:
    """All findings in trees, imports followed, by the package on ``path``."""
    command = [sys.executable, str(ROOT / "tests" / "benchmarks" / "dump.py"), str(out), *map(str, trees), "--follow"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path}, cwd=out.parent)
    return out.read_text().splitlines()


@needs_site
def test_it_is_compiled() -> None:
    command = [sys.executable, "-c", "import flake8_inplace.interpreter.functions as m; print(m.__file__)"]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=SITE).stdout.strip()
    assert not found.endswith(".py")
    assert Path(found).is_relative_to(SITE)


LEFT = """
import gc, sys
from flake8_inplace.analysis import analyze
program = open(sys.argv[1], encoding="utf-8").read()
analyze(program)
gc.collect()
gc.disable()
gc.set_debug(gc.DEBUG_SAVEALL)
assert analyze(program).findings
gc.collect()
print(len(gc.garbage))
"""
BUSY = """
import torch

def rows(x, flag):
    for part in x:
        if flag:
            yield part
        elif part is not None:
            yield part * 2

def f(x: torch.Tensor, flag):
    total = torch.zeros(3)
    total[0] += x.sum()
    y = [row.exp() for row in rows(x, flag)]
    z = sum(row for row in y)
    with torch.no_grad():
        z = z if flag else x
    h = torch.sigmoid(x)
    h.add_(1)
    return h, z, total
"""


@pytest.mark.parametrize("site", [str(ROOT), pytest.param(SITE, marks=needs_site)], ids=["pure", "compiled"])
def test_no_garbage_is_left(site: str, tmp_path: Path) -> None:
    """References go in no circle, of what mypyc makes of nested functions either: the next file needs the memory."""
    (tmp_path / "busy.py").write_text(BUSY, encoding="utf-8")
    command = [sys.executable, "-c", LEFT, "busy.py"]
    environment = {**os.environ, "PYTHONPATH": site}
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert int(done.stdout) < 100


@needs_site
@pytest.mark.parametrize("kind", ["cases", "projects", "library"])
def test_the_same_findings(kind: str, tmp_path: Path) -> None:
    trees = [ROOT / "tests" / kind]
    if kind == "library":
        torch = pytest.importorskip("torch", reason="the library that is read is PyTorch itself")
        trees = [Path(torch.__file__).parent / part for part in ("nn", "optim", "distributions", "testing")]
    pure = dumped(tmp_path / "pure.txt", trees, str(ROOT))
    assert dumped(tmp_path / "compiled.txt", trees, SITE) == pure
    assert bool(pure) == (kind != "library")  # it has no hazards; that both read it to the end is what is tested
