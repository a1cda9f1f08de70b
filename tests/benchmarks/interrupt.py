"""Ctrl-C at random moments of `flake8-inplace check`: how long it takes to end, and what it leaves behind.

    python tests/benchmarks/interrupt.py --times 100 --jobs 1 2

The signal goes to the whole group of processes, as a terminal sends it. Before `--begin` Python itself is starting,
and answers as it does for any program. Every tenth file has one finding, so the number of findings printed follows
from the number of files that the closing line names.
"""

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent.parent
CLEAN = "import torch\n\n\ndef gate(w: torch.nn.Parameter):\n    h = torch.sigmoid(w)\n    return h + 1\n"
HAZARD = CLEAN.replace("    return h + 1\n", "    h += 1\n    return h\n")
EVERY = 10
"""One file of so many has a finding."""
GRACE = 2.0
"""How long, in seconds, processes that were killed may take to be gone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one interrupted run did. ``right`` says whether it printed the findings of the files it names."""

    seconds: float
    status: int
    right: bool
    orphans: int
    errors: str


def tree(folder: Path, number: int) -> None:
    """Write the files. Their names sort in the order of their numbers."""
    for index in range(number):
        (folder / f"net{index:05}.py").write_text(HAZARD if index % EVERY == 0 else CLEAN)


def started(folder: Path, jobs: int, output: IO[str]) -> "subprocess.Popen[str]":
    """Begin a run. It writes to a file, since nobody empties a pipe while the script waits."""
    command = [sys.executable, "-m", "flake8_inplace", "check", "--isolated", "--no-cache", f"--jobs={jobs}", "."]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def group(number: int) -> Iterator[int]:
    """Yield the processes of a group that have not ended."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, mine = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has ended meanwhile
            continue
        if int(mine) == number and state != "Z":
            yield int(path.parent.name)


def orphans(number: int) -> int:
    """How many processes of a group are left, after some time to go; they are ended."""
    end = time.monotonic() + GRACE
    while (left := list(group(number))) and time.monotonic() < end:
        time.sleep(0.02)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return len(left)


def interrupted(folder: Path, jobs: int, wait: float) -> Outcome | None:
    """Interrupt a run after some seconds; None if it ended before."""
    with tempfile.TemporaryFile("w+") as output:
        process = started(folder, jobs, output)
        try:
            process.wait(wait)
            return None
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
        begin = time.monotonic()
        try:
            _, errors = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        seconds = time.monotonic() - begin
        if process.returncode in (0, 1):
            return None
        output.seek(0)
        right = complete(output.read(), errors)
    return Outcome(seconds, process.returncode, right, orphans(process.pid), errors)


def complete(output: str, errors: str) -> bool:
    """Whether the findings of all files that were done are printed, and nothing else is said."""
    said = re.fullmatch(r"flake8-inplace: stopped(?: after (\d+) files?)?\n", errors)
    if said is None:
        return False
    return output.count(": TIP103 ") == -(-int(said[1] or 0) // EVERY)


def duration(folder: Path, jobs: int) -> float:
    """How long a run takes that nothing interrupts."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        started(folder, jobs, output).communicate()
    return time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description="Interrupt runs of flake8-inplace check.")
    parser.add_argument("--times", type=int, default=100, help="interrupts for each number of jobs")
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--begin", type=float, default=0.5, help="the earliest moment, in seconds")
    parser.add_argument("--end", type=float, help="the latest moment, in seconds; default: the end of a run")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts this behind `&` ignores the signal
    moments = random.Random(given.seed)
    wrong = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as name:
        folder = Path(name)
        tree(folder, given.files)
        for jobs in given.jobs:
            end = given.end or duration(folder, jobs)
            print(
                f"--jobs {jobs}: {given.files} files, interrupts between {given.begin:.1f} and {end:.1f} s", flush=True
            )
            found: list[Outcome] = []
            while len(found) < given.times:
                wait = moments.uniform(given.begin, end)
                if (outcome := interrupted(folder, jobs, wait)) is not None:
                    found.append(outcome)
                    if outcome.status != 130 or not outcome.right or outcome.orphans:
                        print(f"  at {wait:.2f} s: {outcome}", flush=True)
            times = [outcome.seconds for outcome in found]
            print(f"  seconds to exit: median {statistics.median(times):.2f}, most {max(times):.2f}")
            print(f"  over a second: {sum(seconds > 1 for seconds in times)} of {len(found)}")
            print(f"  status: {dict(Counter(outcome.status for outcome in found))}")
            print(f"  findings so far: {sum(outcome.right for outcome in found)} of {len(found)}")
            print(f"  orphans: {sum(outcome.orphans for outcome in found)}", flush=True)
            wrong += sum(outcome.status != 130 or not outcome.right or outcome.orphans > 0 for outcome in found)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
