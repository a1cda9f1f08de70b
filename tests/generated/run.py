"""Compares linter and torch on many generated programs: `python -m tests.generated.run --count 20000 --seed 1`.

Prints how far they agree and stores each disagreement, made short, in the output folder, sorted by a rough cause.
Program i of seed s is always the same: `make_program(random.Random("s:i"))`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import signal
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from . import oracle
from .compare import STEP, Compared, cause, compare, compare_lines
from .minimise import minimise
from .programs import make_program

LIMIT = 2


@dataclass
class Disagreement:
    name: str
    kind: str
    cause: str
    source: str
    original: str
    message: str


@dataclass
class Tally:
    """What a share of the programs gave."""

    counts: Counter[str] = field(default_factory=Counter)
    discarded: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.discarded += other.discarded
        self.disagreements += other.disagreements


def program_of(seed: int, number: int, wild: float = 0.0) -> str:
    return make_program(random.Random(f"{seed}:{number}"), wild)


def work(seed: int, numbers: range, wild: float, minimised: bool) -> Tally:
    tally = Tally()
    for number in numbers:
        source = program_of(seed, number, wild)
        compared = limited(source)
        tally.counts["programs"] += 1
        if compared.kind == "discarded":
            tally.discarded[compared.verdict.message[:100]] += 1
            tally.counts["discarded"] += 1
            continue
        outcome = compared.verdict.outcome
        tally.counts[outcome] += 1
        tally.counts[compared.kind] += 1
        tally.counts[f"{outcome}, {compared.kind}"] += 1
        if outcome == "clean":
            tally.counts["clean, lines flagged"] += len(compared.lines)
            for family in {code[:4] for code in compared.codes}:
                tally.counts[f"clean, {family}"] += 1
        elif outcome == "saved" and compared.kind != "crash":
            tally.counts["raising, TIP2"] += any(code[:4] == "TIP2" for code in compared.codes)
            lines = compare_lines(source, compared.lines)
            tally.counts["overwritten"] += lines.overwritten
            tally.counts["named"] += lines.named
            tally.counts["raising, lines flagged"] += lines.flagged
            tally.counts["raising, lines right"] += lines.right
        if compared.kind != "agree":
            tally.disagreements.append(disagreement(f"{seed}-{number}", source, compared, minimised))
    return tally


def disagreement(name: str, source: str, compared: Compared, minimised: bool) -> Disagreement:
    def same(text: str) -> bool:
        other = limited(text)
        if other.kind != compared.kind or other.verdict.outcome != compared.verdict.outcome:
            return False
        return ".backward(" in text and (compared.kind != "false alarm" or other.codes <= compared.codes)

    short = minimise(source, same) if minimised else source
    final = limited(short)
    message = final.verdict.message if final.kind == "missed" else final.note
    if final.kind == "false alarm":
        message = ", ".join(f"line {line} {code}" for line, code in final.flagged)
    return Disagreement(name, compared.kind, cause(short, final), short, source, message)


def warm_up() -> None:
    """Let torch import what it imports late (an optimizer loads torch._dynamo), before any time limit runs."""
    oracle.trace(
        "import torch\ndef program():\n    w = torch.ones(2, requires_grad=True)\n    (w * w).sum().backward()\n"
        "    torch.optim.Adam([w]).step()\n"
    )
    importlib.import_module("torch._dynamo")


def limited(source: str) -> Compared:
    """Compare within a few seconds: an edit may make a loop endless, and the linter must not hang."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT)
    try:
        return compare(source)
    finally:
        signal.alarm(0)


def store(out: Path, found: list[Disagreement]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for d in found:
        stem = f"{d.kind.replace(' ', '-')}-{d.name}"
        header = f"# {d.kind}: {d.message}\n# {d.cause}\n"
        (out / f"{stem}.py").write_text(header + d.source)
        (out / f"{stem}.full.txt").write_text(d.original)
    clusters = Counter(d.cause for d in found)
    table = [
        {"cause": key, "count": n, "names": [d.name for d in found if d.cause == key]}
        for key, n in clusters.most_common()
    ]
    (out / "clusters.json").write_text(json.dumps(table, indent=1))


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.2f} %)" if whole else "none"


def report(tally: Tally, seconds: float) -> str:
    c = tally.counts
    steps = sum(d.kind == "missed" and STEP in d.cause for d in tally.disagreements)
    raising, missed = c["saved"], c["saved, missed"]
    lines = [
        f"programs        {c['programs']} in {seconds:.0f} s, {c['discarded']} discarded (another error)",
        f"raising         {raising}",
        f"clean           {c['clean']}",
        f"recall          {share(raising - missed, raising)} of the raising are flagged",
        f"                {steps} of the {missed} missed are writes by an optimizer step",
        f"false alarms    {share(c['clean, TIP1'], c['clean'])} of the clean are flagged TIP1xx,"
        f" {c['clean, TIP2']} TIP2xx, {c['clean, TIP3']} TIP3xx (of the last, torch says nothing)",
        f"crashes         {c['crash']}",
        f"overwritten     {share(c['named'], c['overwritten'])} overwritten saved tensors have their write named",
        f"flagged lines   {share(c['raising, lines right'], c['raising, lines flagged'])} right in raising programs;"
        f" {c['clean, lines flagged']} more in clean ones",
        f"refused writes  {share(c['refused, agree'], c['refused'])} are flagged TIP2xx; {c['raising, TIP2']} TIP2xx in"
        " programs that ran to a backward that raised",
    ]
    lines += [f"discarded       {n} {message}" for message, n in tally.discarded.most_common(5)]
    clusters = Counter(d.cause for d in tally.disagreements)
    lines += [f"{n:5} {key}" for key, n in clusters.most_common(60)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare linter and torch on generated programs.")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for the disagreements")
    parser.add_argument("--show", type=int, help="print this one program and what both say, then stop")
    parser.add_argument("--wild", type=float, default=0.0, help="how often a write that torch refuses is let through")
    parser.add_argument("--no-minimise", action="store_true", help="store the disagreements as they are")
    args = parser.parse_args()
    if args.show is not None:
        source = program_of(args.seed, args.show, args.wild)
        print(source, compare(source), *oracle.trace(source), sep="\n")
        return
    started = time.perf_counter()
    end = args.start + args.count
    shares = [range(i, min(i + 100, end)) for i in range(args.start, end, 100)]
    tally = Tally()
    with ProcessPoolExecutor(args.jobs, initializer=warm_up) as pool:
        tasks = [pool.submit(work, args.seed, numbers, args.wild, not args.no_minimise) for numbers in shares]
        for task in tasks:
            tally.add(task.result())
    print(report(tally, time.perf_counter() - started))
    if args.out:
        store(args.out, tally.disagreements)


if __name__ == "__main__":
    main()
