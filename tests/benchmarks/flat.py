"""Whether the time for a line stays the same while files grow.

    python tests/benchmarks/flat.py                       # every variant, 1,000 to 50,000 lines
    python tests/benchmarks/flat.py loops --profile 10000 # where the time goes in one of them

Prints microseconds of processor time a line, the ratio of the largest to the smallest of them, and the most memory of
any of these files. Each is analysed in a process of its own, twice, and the better time counts; `-` stands for one that
takes more than `--limit` seconds, Python's own parsing included, or 4 GiB.
"""

import argparse
import ast
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from flake8_inplace.analysis import analyze
from flake8_inplace.checker import uncollected

MEMORY = 4 << 30
SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000)
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {"seconds": seconds, "megabytes": peak, "lines": source.count("\n")}


def measured(variant: str, lines: int, limit: int) -> dict[str, float] | None:
    """The better of two runs; None where one takes too long or too much memory."""
    command = [sys.executable, __file__, variant, "--one", str(lines), "--limit", str(limit)]
    runs = [subprocess.run(command, capture_output=True, check=False) for _ in range(2)]
    found = [json.loads(run.stdout) for run in runs if not run.returncode]
    return min(found, key=lambda row: row["seconds"]) if len(found) == len(runs) else None


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Whether the time for a line stays the same while files grow.")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="LINES")
    parser.add_argument("--limit", type=int, default=60, help="seconds of processor time that a file may take")
    parser.add_argument("--profile", type=int, metavar="LINES", help="profile files of this length instead")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    variants = options.variants or list(VARIANTS)
    if options.one:
        print(json.dumps(one(variants[0], options.one, options.limit)))
        return
    if options.profile:
        for variant in variants:
            profile = cProfile.Profile()
            profile.runcall(analyze, VARIANTS[variant](options.profile))
            pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return
    print(f"{'microseconds a line':20}", *(f"{size:>8}" for size in options.sizes), "   ratio     MiB")
    for variant in variants:
        found = [measured(variant, size, options.limit) for size in options.sizes]
        costs = [1e6 * row["seconds"] / row["lines"] for row in found if row]
        cells = [f"{1e6 * row['seconds'] / row['lines']:8.1f}" if row else f"{'-':>8}" for row in found]
        ratio = f"{max(costs) / min(costs):8.2f}" if all(found) else f"{'-':>8}"
        peak = max((row["megabytes"] for row in found if row), default=0)
        print(f"{variant:20}", *cells, ratio, f"{peak:7.0f}", flush=True)


if __name__ == "__main__":
    main()
