"""Matrices of idioms: each way to keep a value with each way to change it and each way to read it.

`python -m tests.generated.matrices [NAME ...]` runs every hazard of a matrix beside its right twin under torch. Where
they give different values, or the backward of the first raises, the linter has to report the first and be silent about
the second. Printed for each matrix: how many differ, how many are reported, how many twins are. `--missed` prints by
which alternatives the others are missed: what a whole row or column misses is a cause, what misses here and there is
not.

In a matrix, `{keep}` is a gap of the program. `⟨.clone()⟩` stands in the twin only, and `⟨a|b⟩` is `a` in the hazard
and `b` in the twin; `⏎` begins a line. An alternative after `=>` goes to the gap of the same name with a `2`: how that
is read.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import math
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flake8_inplace.analysis import analyze

FOLDER = Path(__file__).resolve().parent / "matrices"
PRELUDE = """import copy
import dataclasses
import functools
from collections import OrderedDict, deque, namedtuple
import numpy as np
import torch
from torch import nn
"""
TWIN = re.compile(r"⟨(?:([^⟨⟩|]*)\|)?([^⟨⟩|]*)⟩")
GAP = re.compile(r"\{(\w+)\}")
_REFUSAL = re.compile("in-?place operation")


@dataclass(frozen=True)
class Program:
    """A hazard and its right twin, and the alternatives that it is made of."""

    labels: tuple[str, ...]
    hazard: str
    twin: str


@dataclass(frozen=True)
class Matrix:
    """A program with gaps, and what may stand in each of them."""

    name: str
    template: str
    gaps: dict[str, list[str]]

    def programs(self) -> Iterator[Program]:
        """All combinations."""
        for choice in itertools.product(*self.gaps.values()):
            yield self._program(choice)

    def __len__(self) -> int:
        return math.prod(map(len, self.gaps.values()))

    def sample(self, count: int, seed: str) -> list[Program]:
        """`count` combinations drawn at random, fewer if there are no more."""
        draw = random.Random(f"{seed}:{self.name}")
        numbers = sorted(draw.sample(range(len(self)), min(count, len(self))))
        return [program for number, program in enumerate(self.programs()) if number in numbers]

    def _program(self, choice: tuple[str, ...]) -> Program:
        values = {}
        for gap, alternative in zip(self.gaps, choice, strict=True):
            values[gap], _, values[f"{gap}2"] = (part.strip() for part in alternative.partition("=>"))
        text = _filled(self.template, values)
        hazard = TWIN.sub(lambda found: found[1] or "", text)
        twin = TWIN.sub(lambda found: found[2], text)
        return Program(tuple(choice), PRELUDE + hazard, PRELUDE + twin)


def _filled(template: str, values: dict[str, str]) -> str:
    """The template with its gaps filled, and those of the alternatives."""
    for _ in range(2):
        template = GAP.sub(lambda found: values.get(found[1], found[0]), template)
    return template.replace("⏎", "\n") + "\n"


def matrices(names: list[str] | None = None) -> list[Matrix]:
    """The matrices of the folder, all of them or those of these names."""
    found = [matrix for page in sorted(FOLDER.glob("*.txt")) for matrix in _read(page.read_text())]
    return [matrix for matrix in found if not names or matrix.name in names]


def _read(page: str) -> Iterator[Matrix]:
    """`# name`, the program, and below `## gap` one alternative a line.

    What stands above the first name begins all programs of the page. A gap without alternatives has those of the matrix
    before.
    """
    prelude, *sections = re.split(r"^# ", page, flags=re.MULTILINE)
    before: dict[str, list[str]] = {}
    for section in sections:
        head, *gaps = re.split(r"^## ", section, flags=re.MULTILINE)
        name, _, template = head.partition("\n")
        tables = [gap.strip().splitlines() for gap in gaps]
        before = {table[0]: table[1:] or before[table[0]] for table in tables}
        yield Matrix(name.strip(), prelude + template.strip("\n"), before)


def outcome(source: str) -> str | None:
    """What the program leaves in `out`, as text; that it is refused an in-place operation; None for another error."""
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "program", "exec"), names)
        except Exception as error:
            return "refused" if isinstance(error, RuntimeError) and _REFUSAL.search(str(error)) else None
    return repr(names["out"])


@dataclass
class Tally:
    """What the programs of a matrix gave: hazards reported and missed, twins reported, and those that say nothing."""

    reported: int
    missed: list[Program]
    false: list[Program]
    same: int
    raising: int


def tally(programs: Iterator[Program] | list[Program]) -> Tally:
    """Runs and lints each program and its twin."""
    result = Tally(0, [], [], 0, 0)
    for program in programs:
        hazard, twin = outcome(program.hazard), outcome(program.twin)
        if hazard is None or twin is None:
            result.raising += 1
        elif hazard == twin:
            result.same += 1
        elif analyze(program.hazard).findings:
            result.reported += 1
        else:
            result.missed.append(program)
        if twin is not None and analyze(program.twin).findings:
            result.false.append(program)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="matrices; all by default")
    parser.add_argument("--sample", type=int, default=0, help="this many programs of each matrix")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--missed", action="store_true", help="by which alternatives programs are missed")
    options = parser.parse_args()
    for matrix in matrices(options.names):
        programs = matrix.sample(options.sample, options.seed) if options.sample else matrix.programs()
        found = tally(programs)
        hazards = found.reported + len(found.missed)
        print(
            f"{matrix.name}: {found.reported} of {hazards} reported, {len(found.false)} false; "
            f"{found.same} the same, {found.raising} raise",
            flush=True,
        )
        for program in found.false[:5]:
            print("   false:", " / ".join(program.labels))
        if options.missed:
            for place in range(len(matrix.gaps)):
                counts = Counter(program.labels[place] for program in found.missed)
                print("  ", *(f"{count} times {label!r}" for label, count in counts.most_common(30)), sep="\n      ")


if __name__ == "__main__":
    main()
