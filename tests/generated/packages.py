"""The analysis on damaged packages: `python -m tests.generated.packages --count 300 --seed 1 PACKAGE...`

Of a package, a few files that import each other are deleted, emptied, made circular, exchanged, changed like those of
`fuzz` or made unreadable. Then they and the files that import them are analysed in two orders. Whatever happened, each
analysis ends soon, raises nothing, names places that its file has, and finds the same in both orders.
"""

from __future__ import annotations

import argparse
import ast
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from flake8_inplace.analysis import Program, Result, _Read
from flake8_inplace.program.imports import Project

from .fuzz import EXTRA, MEMORY, judged, text_of
from .mutate import mutant

#: At most so many files are damaged, and at most so many that import them analysed.
DAMAGED, IMPORTERS = 4, 6
TOO_DEEP = "x = " + "(" * 90 + "1" + ")" * 90 + "\ny = " + "-" * 3000 + "1\n"


class Watched(Program):
    """A program that remembers the errors which `Program` keeps from its caller."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Project(str(folder)), extra=EXTRA)
        self.errors: list[Exception] = []

    def _read(self, source: str, tree: ast.Module, path: str) -> _Read:
        try:
            return super()._read(source, tree, path)
        except Exception as error:
            self.errors.append(error)
            raise


# What is done to a package


def dotted(path: Path, top: Path) -> str:
    parts = list(path.relative_to(top).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def defined(path: Path, rng: random.Random) -> list[str]:
    """Some names that a file defines at its top."""
    text = text_of(path)
    body = ast.parse(text).body if text is not None else []
    found = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)] or ["nothing"]
    return rng.sample(found, min(3, len(found)))


def delete(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    rng.choice(paths).unlink(missing_ok=True)


def empty(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    rng.choice(paths).write_text(rng.choice(["", "\n", "import torch\n", "from . import *\n", "__all__ = []\n"]))


def circular(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    """Let each file import from the next one, and the last from the first: at its start or at its end."""
    ring = rng.sample(list(paths), rng.randint(1, len(paths)))
    for path, other in zip(ring, [*ring[1:], ring[0]], strict=True):
        module = dotted(other, top)
        names = ", ".join(defined(other, rng))
        line = rng.choice(
            [
                f"from {module} import *\n",
                f"from {module} import {names}\n",
                f"import {module} as {names.split(',')[0]}\n",
            ]
        )
        text = path.read_text("utf-8", "replace") if path.exists() else ""
        path.write_text(rng.choice([line + text, f"{text}\n{line}", line]), "utf-8")


def bases(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    """Let classes of two files be each other's bases, and functions of them each other's callees."""
    one, other = rng.choice(paths), rng.choice(paths)
    for path, there, mine, theirs in ((one, other, "A", "B"), (other, one, "B", "A")):
        text = path.read_text("utf-8", "replace") if path.exists() else ""
        more = (
            f"\nimport torch\nfrom {dotted(there, top)} import Fuzz{theirs}, fuzz_{theirs}\n"
            f"class Fuzz{mine}(Fuzz{theirs}, torch.nn.Module):\n"
            f"    part = Fuzz{theirs}\n"
            f"    def forward(self, x):\n        return super().forward(fuzz_{theirs}(x, self.part))\n"
            f"def fuzz_{mine}(x, *parts):\n    y = fuzz_{theirs}(x.exp(), *parts, Fuzz{theirs}())\n    x += 1\n"
            f"    return y\n"
        )
        path.write_text(text + more, "utf-8")


def exchange(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    one, other = rng.choice(paths), rng.choice(paths)
    if one.is_file() and other.is_file():
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)


def change(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    path = rng.choice(paths)
    text = text_of(path) if path.is_file() else None
    if text is not None and text.strip():
        path.write_bytes(mutant(text, rng, 400).encode("utf-8", "surrogatepass"))


def spoil(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    """Make a file unreadable: no text, no Python, too deep for a parser, a folder, a link to itself."""
    path = rng.choice(paths)
    path.unlink(missing_ok=True)
    kind = rng.randrange(6)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        path.symlink_to(path)
    else:
        path.write_bytes([b"\xff\xfe\x00import torch", b"def f(:\n", TOO_DEEP.encode(), b"x = '\x00'\n"][kind - 2])


def beside(paths: Sequence[Path], top: Path, rng: random.Random) -> None:
    """Put a package beside a module of the same name, with the text of another file."""
    path, other = rng.choice(paths), rng.choice(paths)
    folder = path.with_suffix("")
    if path.name != "__init__.py" and not folder.exists() and other.is_file():
        folder.mkdir()
        (folder / "__init__.py").write_bytes(other.read_bytes())


EDITS = (
    delete,
    delete,
    empty,
    empty,
    circular,
    circular,
    circular,
    bases,
    bases,
    exchange,
    change,
    change,
    spoil,
    beside,
)


def damage(package: Path, copy: Path, rng: random.Random) -> list[Path]:
    """Copy a package and damage it. Return the files to analyse."""
    top = copy / package.name
    shutil.copytree(package, top)
    files = sorted(path for path in top.rglob("*.py") if path.is_file())
    modules = Program(Project(str(copy))).modules
    near = files
    for _ in range(5):
        first = rng.choice(files)
        around = [first, *(Path(path) for path in modules.users.importers(str(first)))]
        near = around if len(around) > 1 else near
        if len(around) > 1:
            break
    damaged = rng.sample(near, min(rng.randint(1, DAMAGED), len(near)))
    importers = [path for path in near if path not in damaged]
    for _ in range(rng.randint(1, 5)):
        for path in damaged:
            if path.is_symlink() or path.is_dir():
                path.unlink() if path.is_symlink() else path.rmdir()
        rng.choice(EDITS)([path for path in damaged if path.parent.is_dir()], copy, rng)
    chosen = damaged + rng.sample(importers, min(IMPORTERS, len(importers))) + rng.sample(files, 2)
    return [path for path in dict.fromkeys(chosen) if path.is_file() and text_of(path) is not None]


# What the analysis makes of it

Found = dict[Path, list[str]]


def analyses(folder: Path, paths: Sequence[Path]) -> tuple[Found, list[tuple[Path, str]], tuple[float, str]]:
    """The findings in each file, what went wrong, and the slowest file: in one program, as in a run of the linter."""
    program = Watched(folder)
    found: Found = {}
    failures = []
    slowest = (0.0, "")
    for path in paths:
        text = text_of(path) or ""
        start = time.process_time()
        results: list[Result] = []

        def run(text: str = text, path: Path = path, results: list[Result] = results) -> Result:
            results.append(program.analyze(text, None, str(path)))
            return results[0]

        kind, cause = judged(run, text)
        slowest = max(slowest, (time.process_time() - start, str(path.relative_to(folder))))
        causes = [cause] if kind == "failed" else []
        causes += [f"kept from the caller: {error!r}" for error in program.errors]
        program.errors.clear()
        failures += [(path, each) for each in causes]
        rows = [f"{each.line}:{each.column} {each.code} {each.text}" for each in results[0].findings] if results else []
        found[path] = [*rows, cause] if kind == "unreadable" else rows
    return found, failures, slowest


def work(packages: Sequence[Path], seed: int, number: int, tally: Counter[str]) -> tuple[float, str, list[str]]:
    """Damage a package and analyse it: the slowest file, and what went wrong."""
    rng = random.Random(f"{seed}:{number}")
    package = rng.choice(packages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        paths = damage(package, folder, rng)
        first, failures, slowest = analyses(folder, paths)
        other, more, again = analyses(folder, paths[::-1])
        said = [f"{path.relative_to(folder)}: {cause}" for path, cause in failures + more]
        for path in paths:
            if first[path] != other[path]:
                said.append(f"{path.relative_to(folder)}: the order decides: {set(first[path]) ^ set(other[path])}")
        tally["files"] += len(paths)
        tally["found"] += sum(map(bool, first.values()))
        seconds, where = max(slowest, again)
        return seconds, f"{number} {where}", said


def main() -> None:
    parser = argparse.ArgumentParser(description="The analysis on damaged packages.")
    parser.add_argument("packages", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first package")
    parser.add_argument("--keep", type=Path, help="store the damaged package of number --start here, and stop")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of odd escapes in the files
    if args.keep:
        rng = random.Random(f"{args.seed}:{args.start}")
        print(*damage(rng.choice(args.packages), args.keep, rng), sep="\n")
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    started, tally, slowest, failed = time.perf_counter(), Counter[str](), (0.0, ""), 0
    one: Callable[[int], tuple[float, str, list[str]]] = partial(work, args.packages, args.seed, tally=tally)
    for number in range(args.start, args.start + args.count):
        seconds, name, failures = one(number)
        slowest = max(slowest, (seconds, name))
        failed += bool(failures)
        for failure in failures:
            print(f"{number}: {failure}", flush=True)
        if number % 10 == 0:
            print(f"{number}, slowest {slowest}", end="\r", file=sys.stderr)
    print(f"packages    {args.count}, {tally['files']} files analysed twice, in {time.perf_counter() - started:.0f} s")
    print(f"findings in {tally['found']}")
    print(f"slowest     {slowest[0]:.2f} s: {slowest[1]}")
    print(f"failed      {failed}")


if __name__ == "__main__":
    main()
