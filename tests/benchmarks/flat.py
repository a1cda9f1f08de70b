"""Whether the time for a line stays the same while files grow, and the time for a file while projects do.

    python tests/benchmarks/flat.py                       # every variant, 1,000 to 50,000 lines
    python tests/benchmarks/flat.py --files               # every kind of project, 100 to 3,000 files
    python tests/benchmarks/flat.py loops --profile 10000 # where the time goes in one of them

Prints microseconds of processor time a line, or milliseconds a file, the ratio of the largest to the smallest of them,
and the most memory of any of these files or projects. Each is analysed in a process of its own, twice, and the better
time counts; `-` stands for one that takes more than `--limit` seconds (ten times that for a project), Python's own
parsing included, or 4 GiB.
"""

import argparse
import ast
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from flake8_inplace.analysis import analyze
from flake8_inplace.checker import Checker
from flake8_inplace.cpython import uncollected

MEMORY = 4 << 30
SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000)
FILES = (100, 300, 1000, 3000)
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


def repeated(block: str, lines: int, head: str = "", tail: str = "") -> str:
    """As many copies of a block as make so many lines; `@` in it is the number of the copy."""
    copies = (lines - HEAD.count("\n") - head.count("\n") - tail.count("\n")) // block.count("\n")
    return HEAD + head.replace("@", "") + "".join(block.replace("@", str(number)) for number in range(copies)) + tail


FUNCTION = """\
def gate@(w: torch.nn.Parameter, x: torch.Tensor):
    h = torch.sigmoid(w * x)
    if x.requires_grad:
        h = h * 2
    for i in range(3):
        h = h + x
    h += 1
    return h


"""
CALLER = """\
def call@(w: torch.nn.Parameter, x: torch.Tensor):
    h = torch.sigmoid(w)
    shift(h, x)
    return h


"""
CALLED = """\
def shift(h, x):
    h += x
    return h


"""
HANDED = """\
def hand@(w: torch.nn.Parameter, x: torch.Tensor):
    h = torch.sigmoid(w * x)
    register(long)
    h += 1
    return h


"""
CLASS = """\
class Block@(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.second = torch.nn.Linear(width, width)

    def forward(self, x):
        y = F.relu(self.first(x))
        y += x
        return self.second(y)


"""
FAMILY = """\
class Part@(Base):
    def _merge(self, other):
        other._merge(self)
        self.h += 1


"""
BASE = """\
class Base(torch.nn.Module):
    def forward(self, x):
        return x


"""
PRIVATE = """\
def _scale@(h, w):
    y = h * w
    y += 1
    return y


"""
BODY = """\
    h@ = torch.sigmoid(w)
    y = h@ * x
    y = y.view(-1)
    h@ += 1
"""
BRANCH = """\
    if a[@]:
        h = torch.exp(h)
    else:
        h = h * 2
"""
LOOP = """\
    for item in a:
        y = torch.sigmoid(w)
        y += item
"""
NESTED = """\
    if x[0]:
        for i in a:
            with torch.no_grad():
                if x[1]:
                    while x[2]:
                        try:
                            h = h * w
                        except ValueError:
                            h += 1
"""
MODULE = """\
h@ = torch.sigmoid(weight)
y@ = h@ * 2
h@ += 1
print(y@)
"""
OPEN = "def long(w: torch.nn.Parameter, x: torch.Tensor, *a):\n    h = torch.exp(w)\n"
CLOSE = "    h += 1\n    return h\n"

VARIANTS: dict[str, Callable[[int], str]] = {
    "functions": lambda lines: repeated(FUNCTION, lines),
    "classes": lambda lines: repeated(CLASS, lines),
    "family": lambda lines: repeated(FAMILY, lines, BASE),
    "private": lambda lines: repeated(PRIVATE, lines),
    "calls": lambda lines: repeated(CALLER, lines, CALLED),
    "handed": lambda lines: (
        repeated("    y = torch.sigmoid(w) * x\n", lines // 2, OPEN, CLOSE + "\n\n")
        + repeated(HANDED, lines // 2, "from elsewhere import register\n\n\n").removeprefix("import torch\n")
    ),
    "body": lambda lines: repeated(BODY, lines, OPEN, CLOSE),
    "chain": lambda lines: repeated("    h = h * w\n", lines, OPEN, CLOSE),
    "writes": lambda lines: repeated("    y = h * w\n    h += 1\n", lines, OPEN, CLOSE),
    "branches": lambda lines: repeated(BRANCH, lines, OPEN, CLOSE),
    "returns": lambda lines: repeated("    if a[@]:\n        return h * @\n", lines, OPEN, CLOSE),
    "loops": lambda lines: repeated(LOOP, lines, OPEN, CLOSE),
    "nesting": lambda lines: repeated(NESTED, lines, OPEN, CLOSE),
    "list": lambda lines: repeated("    rows.append(h * w)\n", lines, OPEN + "    rows = []\n", CLOSE),
    "attributes": lambda lines: repeated("    x.a@ = h * w\n", lines, OPEN, CLOSE),
    "methods": lambda lines: repeated(
        "\n    def run@(self):\n        self.h = self.w * 2\n        self.h += 1\n",
        lines,
        "class Long(torch.nn.Module):\n",
    ),
    "module": lambda lines: repeated(MODULE, lines, "weight = torch.nn.Parameter(torch.ones(3))\n"),
    "literal": lambda lines: repeated("    [@, 'abc', 2.5],\n", lines, FUNCTION + "TABLE = [\n", "]\n"),
    "literal inside": lambda lines: repeated(
        "        [@, 'abc', 2.5],\n", lines, OPEN + "    t = [\n", "    ]\n" + CLOSE
    ),
    "text": lambda lines: repeated("    line @ of a text\n", lines, FUNCTION + 'TEXT = """\n', '"""\n'),
}

USER = """\
import torch
from {}

def step(w: torch.nn.Parameter, x: torch.Tensor):
    h = torch.sigmoid(w * x)
    return act(h)
"""
ACT = "import torch\n\n\ndef act(x):\n    y = torch.exp(x)\n    x += 1\n    return y\n"
LINK = """\
import torch
from net{0:04} import act{0}


def act{1}(x):
    return act{0}(torch.exp(x)) + 1
"""
REGISTERED = HEAD + "from .base import REGISTRY\n\n\n@REGISTRY.register\n" + CLASS
REGISTRY = """\
class Registry(dict):
    def register(self, cls):
        self[cls.__name__] = cls
        return cls


REGISTRY = Registry()
"""


def grouped(number: int) -> tuple[str, str]:
    """Packages of ten files: layers, and nine that use them and those of the first package."""
    folder, place = f"p{number // 10:03}", number % 10
    if not place:
        return f"{folder}/layers.py", ACT
    return f"{folder}/net{place}.py", USER.format(f"{'p000' if place == 9 else ''}.layers import act\n")


#: Kinds of projects: the name and the text of file number N of one.
PROJECTS: dict[str, Callable[[int], tuple[str, str]]] = {
    "no imports": lambda n: (f"net{n:04}.py", HEAD + (CLASS + FUNCTION).replace("@", str(n))),
    "no torch": lambda n: (f"plain{n:04}.py", "import os\n\n\n" + PRIVATE.replace("@", str(n))),
    "one base": lambda n: (f"net{n:04}.py", USER.format("base import act\n")) if n else ("base.py", ACT),
    "chain": lambda n: (f"net{n:04}.py", LINK.format(n - 1, n) if n else ACT.replace("act", "act0")),
    "packages": grouped,
    "registry": lambda n: (
        (f"all/net{n:04}.py", REGISTERED.replace("Block@", f"Block{n}")) if n else ("all/base.py", REGISTRY)
    ),
}


def one_project(kind: str, files: int, limit: int) -> dict[str, float]:
    """Seconds that the linter takes for all files of a project, and megabytes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        texts = {folder / "main.py": HEAD}
        for number in range(files):
            path, text = PROJECTS[kind](number)
            (folder / path).parent.mkdir(exist_ok=True)
            texts[folder / path] = text
        for path, text in texts.items():
            path.write_text(text)
        lint(VARIANTS["functions"](100), "")  # the facts are read once
        start = time.process_time()
        for path, text in texts.items():
            lint(text, str(path))
        return {"seconds": time.process_time() - start, "megabytes": megabytes(), "number": files}


def lint(text: str, path: str) -> None:
    """Do with one file what flake8 has the plugin do."""
    list(Checker(ast.parse(text), text.splitlines(keepends=True), path).run())


def megabytes() -> float:
    """The most memory that this process took."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def one(variant: str, lines: int, limit: int) -> dict[str, float]:
    """Seconds of the analysis of one file, without the time that Python takes to parse it, and megabytes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    source = VARIANTS[variant](lines)
    tree = ast.parse(source)
    analyze(VARIANTS["functions"](100))  # the facts are read once
    start = time.process_time()
    with uncollected():  # as in every run of the linter
        analyze(source, tree)
    seconds = time.process_time() - start
    return {"seconds": seconds, "megabytes": megabytes(), "number": source.count("\n")}


def measured(*arguments: str) -> dict[str, float] | None:
    """The better of two runs; None where one takes too long or too much memory."""
    command = [sys.executable, __file__, *arguments]
    runs = [subprocess.run(command, capture_output=True, check=False) for _ in range(2)]
    found = [json.loads(run.stdout) for run in runs if not run.returncode]
    return min(found, key=lambda row: row["seconds"]) if len(found) == len(runs) else None


def table(head: str, unit: float, variants: list[str], sizes: list[int], option: str, limit: int) -> None:
    """Print what a line or a file costs in each variant and size."""
    print(f"{head:20}", *(f"{size:>8}" for size in sizes), "   ratio     MiB")
    for variant in variants:
        found = [measured(variant, option, str(size), f"--limit={limit}") for size in sizes]
        costs = [row["seconds"] / row["number"] / unit for row in found if row]
        cells = [f"{row['seconds'] / row['number'] / unit:8.1f}" if row else f"{'-':>8}" for row in found]
        ratio = f"{max(costs) / min(costs):8.2f}" if all(found) else f"{'-':>8}"
        peak = max((row["megabytes"] for row in found if row), default=0)
        print(f"{variant:20}", *cells, ratio, f"{peak:7.0f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Whether the time for a line stays the same while files grow.")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join([*VARIANTS, *PROJECTS]))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="LINES")
    parser.add_argument("--files", type=int, nargs="*", metavar="FILES", help="measure projects of so many files")
    parser.add_argument("--limit", type=int, default=60, help="seconds of processor time that a file may take")
    parser.add_argument("--profile", type=int, metavar="SIZE", help="profile files, or projects, of this size instead")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--one-project", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    projects = options.files is not None or options.one_project
    variants = options.variants or list(PROJECTS if projects else VARIANTS)
    if options.one:
        print(json.dumps(one(variants[0], options.one, options.limit)))
    elif options.one_project:
        print(json.dumps(one_project(variants[0], options.one_project, options.limit)))
    elif options.profile:
        for variant in variants:
            profile = cProfile.Profile()
            if projects:
                profile.runcall(one_project, variant, options.profile, options.limit)
            else:
                profile.runcall(analyze, VARIANTS[variant](options.profile))
            pstats.Stats(profile).sort_stats("tottime").print_stats(20)
    elif projects:
        table("milliseconds a file", 1e-3, variants, options.files or FILES, "--one-project", 10 * options.limit)
    else:
        table("microseconds a line", 1e-6, variants, options.sizes, "--one", options.limit)


if __name__ == "__main__":
    main()
