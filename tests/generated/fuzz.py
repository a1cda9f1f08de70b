"""The analysis on changed real code: `python -m tests.generated.fuzz --count 20000 --seed 1 FOLDER...`

Whatever stands in a file, the analysis ends soon, raises nothing, and names places that the file has. Program i of
seed s, of the same folders, is always the same. `--as-is` takes each file once, with no more than an import of torch
added. Without a folder, the files are those of the standard library. What goes wrong is stored in the folder of
`--out`, made short, and counted by its cause.
"""

from __future__ import annotations

import argparse
import ast
import random
import resource
import signal
import sys
import sysconfig
import time
import tokenize
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from flake8_inplace.analysis import Result, analyze
from flake8_inplace.files import split_lines

from .minimise import minimise
from .mutate import mutant

#: Seconds of processor time that one program may take.
LIMIT = 10
#: Bytes that a process may take.
MEMORY = 4 << 30
EXTRA = frozenset({"possible", "style"})


@dataclass
class Failure:
    name: str
    cause: str
    source: str


@dataclass
class Tally:
    """What a share of the programs gave."""

    counts: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.slowest = max(self.slowest, other.slowest)
        self.failures += other.failures


def text_of(path: Path) -> str | None:
    """The text of a file that is Python, or nothing."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
        ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return text


def with_torch(path: Path) -> str | None:
    """A file as it stands, but one that the analysis does not pass over."""
    text = text_of(path)
    return None if text is None else f"{text}\nimport torch\n"


def program_of(paths: list[Path], seed: int, number: int, statements: int = 40) -> str | None:
    """A mutant that is still Python, of a file chosen by the number, or nothing after a few tries."""
    rng = random.Random(f"{seed}:{number}")
    for _ in range(10):
        text = text_of(rng.choice(paths))
        if text is None or not text.strip():
            continue
        try:
            changed = mutant(text, rng, statements)
            ast.parse(changed)
        except (SyntaxError, ValueError, RecursionError):
            continue
        return changed
    return None


def judge(source: str) -> tuple[str, str]:
    """What the analysis makes of a program: "found", "nothing", "unreadable" or "failed", and why."""
    return judged(partial(analyze, source, extra=EXTRA), source)


def judged(run: Callable[[], Result], source: str) -> tuple[str, str]:
    """What `run` makes of a text: see `judge`."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        result = run()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = (
            "" if isinstance(error, (TimeoutError, RecursionError)) else f" at {Path(last.filename).name}:{last.lineno}"
        )
        return "failed", f"{type(error).__name__}{place}: {' '.join(str(error).split())[:80]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    lines = split_lines(source.removeprefix("\ufeff"))
    for finding in result.findings:
        if not 1 <= finding.line <= len(lines) or not 0 <= finding.column <= len(lines[finding.line - 1]):
            return "failed", f"no such place: {finding.code} at {finding.line}:{finding.column}"
    if result.problem is not None:
        return "unreadable", result.problem[1]
    return ("found", "") if result.findings else ("nothing", "")


def shortened(source: str, cause: str) -> str:
    """The same failure in a shorter program; where time is what was wanting, there is none to try."""

    def same(text: str) -> bool:
        return judge(text)[1].partition(":")[0] == cause.partition(":")[0]

    return source if "Timeout" in cause else minimise(source, same, tries=60)


def work(paths: list[Path], seed: int, statements: int, numbers: range) -> Tally:
    warnings.simplefilter("ignore")  # of odd escapes in the files
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    tally = Tally()
    for number in numbers:
        name = f"{seed}-{number}" if statements else str(paths[number])
        source = program_of(paths, seed, number, statements) if statements else with_torch(paths[number])
        if source is None:
            tally.counts["no Python"] += 1
            continue
        start = time.process_time()
        kind, cause = judge(source)
        tally.slowest = max(tally.slowest, (time.process_time() - start, name))
        tally.counts["programs"] += 1
        tally.counts["lines"] += source.count("\n")
        tally.counts[kind] += 1
        if kind == "failed":
            tally.failures.append(Failure(name, cause, shortened(source, cause)))
        elif kind == "unreadable":
            tally.counts[f"unreadable: {cause}"] += 1
    return tally


def files_of(folders: list[Path]) -> list[Path]:
    """Every Python file, in the order of the names."""
    return sorted(path for folder in folders for path in folder.rglob("*.py") if path.is_file())


def report(tally: Tally, seconds: float) -> str:
    c = tally.counts
    lines = [
        f"programs    {c['programs']}, {c['lines']} lines, in {seconds:.0f} s; {c['no Python']} more were no Python",
        f"findings in {c['found']}",
        f"unreadable  {c['unreadable']} (TIP000)",
        f"slowest     {tally.slowest[0]:.2f} s: {tally.slowest[1]}",
        f"failed      {c['failed']}",
    ]
    lines += [f"{n:8} {cause}" for cause, n in c.most_common() if cause.startswith("unreadable:")]
    lines += [f"{n:8} {cause}" for cause, n in Counter(f.cause for f in tally.failures).most_common(60)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="The analysis on changed real code.")
    parser.add_argument("folders", type=Path, nargs="*", default=[Path(sysconfig.get_path("stdlib"))])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first program")
    parser.add_argument("--statements", type=int, default=40, help="at most so many statements of a file are taken")
    parser.add_argument("--as-is", action="store_true", help="each file once, unchanged")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for what fails")
    parser.add_argument("--show", type=int, help="print this one program and what is made of it, then stop")
    args = parser.parse_args()
    paths = files_of(args.folders)
    if args.show is not None:
        source = program_of(paths, args.seed, args.show, args.statements)
        print(source, *(judge(source) if source else ()), sep="\n")
        return
    started = time.perf_counter()
    end = len(paths) if args.as_is else args.start + args.count
    shares = [range(i, min(i + 50, end)) for i in range(args.start, end, 50)]
    tally = Tally()
    with ProcessPoolExecutor(args.jobs) as pool:
        for part in pool.map(partial(work, paths, args.seed, 0 if args.as_is else args.statements), shares):
            tally.add(part)
            print(f"{tally.counts['programs']} programs, {tally.counts['failed']} failed", end="\r", file=sys.stderr)
            if args.out and part.failures:
                args.out.mkdir(parents=True, exist_ok=True)
                for failure in part.failures:
                    stem = Path(failure.name).stem
                    (args.out / f"{stem}.py").write_bytes(
                        f"# {failure.cause}\n{failure.source}".encode(errors="surrogatepass")
                    )
    print(report(tally, time.perf_counter() - started))


if __name__ == "__main__":
    main()
