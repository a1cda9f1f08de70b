"""Runs a program under the sanitizer and lays what happened beside what the linter says about its files.

flake8-inplace verify train.py --epochs 1
torchrun --nproc-per-node 2 -m flake8_inplace.runtime.verify train.py
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import distributed

from ..cli import USAGE_ERROR
from ..rules import RULES
from .device import DeviceMissing, device_of
from .frames import is_ours, short
from .outcome import CONFIRMED, NOT_REACHED, REFUTED, UNSEEN, Outcome, Surprise, Verdict, merged, number_of
from .project import Project, Watched, folders_of
from .readers import Reader
from .report import Hazard, InplaceHazardError, Report, StaleRead
from .sanitizer import inplace_sanitizer


def run(
    program: Callable[[], object],
    folders: set[Path],
    fingerprint: bool,
    say: Callable[[str], None],
    stale_reads: bool = False,
) -> Outcome:
    """Run a program and judge the findings of its files."""
    project = Project(folders, say)
    error: Exception | None = None
    status = 0
    watched = inplace_sanitizer("record", fingerprint=fingerprint, stale_reads=stale_reads)
    with watched as report, project.following():
        try:
            program()
        except KeyboardInterrupt:
            report.notes.append("the run was interrupted")
        except SystemExit as exit_:
            status = _status_of(exit_, report)
        except Exception as raised:
            error = raised
    return replace(_judge(project, report, error), exit_status=status)


def _status_of(exit_: SystemExit, report: Report) -> int:
    """What the program says with its exit: as Python does, a text is a failure, and is shown."""
    status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    if status:
        said = "" if isinstance(exit_.code, int) else f": {exit_.code}"
        report.notes.append(f"the program exited with status {status}{said}")
    return status


def _judge(project: Project, report: Report, error: Exception | None) -> Outcome:
    verdicts = []
    explained: list[Hazard] = []
    told: list[StaleRead] = []
    failed_at = _lines_of(error)
    for watched in project.watched():
        seen = [hazard for hazard in report.reached if _concerns(hazard, watched)]
        explained += seen
        if not seen and report.reached:  # the backward pass that failed may not have come to this one
            seen = [hazard for hazard in report.hazards if _concerns(hazard, watched)]
        read = [read for read in report.stale if _concerns_read(read, watched)]
        told += read
        status, why = _status(project, watched, seen, read)
        finding = watched.finding
        verdicts.append(
            Verdict(short(watched.file), finding.line, finding.column + 1, finding.code, finding.message, status, why)
        )
        if status == CONFIRMED and any((watched.file, line) in failed_at for line in watched.lines):
            error = None
    surprises = [Surprise(str(hazard)) for hazard in report.reached if hazard not in explained]
    if error is not None and not isinstance(error, InplaceHazardError):
        surprises.append(Surprise(_told(error)))
    verdicts.sort(key=lambda verdict: (verdict.file, verdict.line, verdict.column))
    stale = tuple(Surprise(str(read)) for read in report.stale if read not in told)
    return Outcome(project.linted, project.passes, tuple(verdicts), tuple(surprises), tuple(report.notes), stale=stale)


def _status(project: Project, watched: Watched, seen: list[Hazard], read: list[StaleRead]) -> tuple[str, str]:
    runs = max(watched.runs.values(), default=0)
    ran = f"the line ran {number_of(runs, 'time')}"
    if seen:
        silent = ", and PyTorch itself would not have noticed" if all(hazard.silent for hazard in seen) else ""
        saved = seen[0].saved_at[0] if seen[0].saved_at else "?"
        if not seen[0].reached:
            return (
                CONFIRMED,
                f"overwrote what {seen[0].saved_by} saved at {saved}; backward failed before it came there",
            )
        return CONFIRMED, f"backward needed what {seen[0].saved_by} saved at {saved}{silent}"
    if not runs:
        return NOT_REACHED, "the line did not run"
    if not RULES[watched.finding.code].at_run_time:
        if read and read[0].read_at:
            return CONFIRMED, f"the value had changed when {read[0].read_at[0]} read it"
        return _read_status(watched.reader, ran)
    if watched.error and watched.finding.saved_at is None:
        return CONFIRMED, f"raised: {watched.error[:100]}"
    if project.passes > watched.passes_before or watched.finding.saved_at is None:
        passed = "backward passed" if watched.finding.saved_at is not None else "nothing was raised"
        return REFUTED, f"{ran}, {passed}"
    return NOT_REACHED, f"{ran}, but no backward pass went through after it"


def _read_status(reader: Reader | None, ran: str) -> tuple[str, str]:
    """What became of a value that is read too late, as far as it can be looked up."""
    if reader is None:
        return UNSEEN, f"{ran}; neither PyTorch nor the sanitizer watches this"
    if reader.stale:
        return CONFIRMED, f"`{reader.name}` was another value when line {reader.line} read it"
    if reader.fresh and not reader.overwritten:
        return REFUTED, f"{ran}, and `{reader.name}` still had its value on line {reader.line}"
    return UNSEEN, f"{ran}; what line {reader.line} reads could not be looked up"


def _concerns(hazard: Hazard, watched: Watched) -> bool:
    frames = [frame for write in hazard.writes for frame in write.stack]
    if not frames and watched.finding.saved_at is not None:  # the writer is out of sight: then the save has to do
        return any(
            (frame.file, frame.line) == (watched.file, watched.finding.saved_at.line) for frame in hazard.saved_at
        )
    return any(frame.file == watched.file and frame.line in watched.lines for frame in frames)


def _concerns_read(read: StaleRead, watched: Watched) -> bool:
    """Whether a value that was read too late is the one of a finding: overwritten there, or read there."""
    frames = [frame for write in read.writes for frame in write.stack] or list(read.read_at)
    lines = set(watched.lines)
    if not read.writes and watched.reader is not None:  # the writer is out of sight: then the reader has to do
        lines = {watched.reader.line}
    return any(frame.file == watched.file and frame.line in lines for frame in frames)


def _lines_of(error: BaseException | None) -> set[tuple[str, int]]:
    frames = traceback.extract_tb(error.__traceback__) if error is not None else ()
    return {(frame.filename, frame.lineno or 0) for frame in frames}


def _told(error: Exception) -> str:
    """What the program ended with, and where, as Python would show it: from the program's own first line on."""
    shown = traceback.TracebackException.from_exception(error)
    outside = [frame.filename.startswith("<frozen") or is_ours(frame.filename) for frame in shown.stack]
    first = outside.index(False) if False in outside else 0
    shown.stack = traceback.StackSummary.from_list(shown.stack[first:])
    last = "".join(shown.format_exception_only()).strip()
    return f"the program ended with {last}\n{''.join(shown.format()).rstrip()}"


def gathered(outcome: Outcome, patience: float) -> Outcome | None:
    """The outcomes of all processes of a distributed run as one, on rank 0; None on the others.

    They meet in a process group of their own, since that of the program may be gone. A process in which something ran
    wrong waits ``patience`` seconds: the others may hang in a collective that it left, and then it speaks for itself.
    """
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return outcome
    if distributed.is_initialized():
        distributed.destroy_process_group()
    outcomes: list[Outcome | None] | None = [None] * world if rank == 0 else None
    try:
        store, _, _ = next(distributed.rendezvous("env://", rank, world))
        distributed.init_process_group(
            "gloo",
            store=distributed.PrefixStore("flake8_inplace", store),
            rank=rank,
            world_size=world,
            timeout=timedelta(hours=1) if outcome.clean else timedelta(seconds=patience),
        )
        distributed.gather_object(outcome, outcomes)
        distributed.barrier()
        distributed.destroy_process_group()
    except RuntimeError:
        return merged({rank: outcome})
    return merged({at: found for at, found in enumerate(outcomes) if found is not None}) if outcomes else None


# The command


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="flake8-inplace verify",
        description="Run a program under the sanitizer and say which findings of the linter the run confirms.",
        epilog="exit status: 0 nothing confirmed, 1 confirmed or ran wrong without a finding, 2 wrong usage; "
        "else that of the program",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcome there, too")
    parser.add_argument(
        "--device", help="where tensors are made if the program does not say (torch.set_default_device)"
    )
    parser.add_argument(
        "--no-fingerprint",
        action="store_true",
        help="compare versions only: faster, but .data, numpy and fused optimizers go unseen",
    )
    parser.add_argument(
        "--stale-reads",
        action="store_true",
        help="also look for values that had changed when they were read; slow",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="under torchrun, how long a process in which something ran wrong waits for the others (default 60)",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as in python -m")
    parser.add_argument("program", metavar="PROGRAM", help="a script, or a module after -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its own arguments")
    return parser


def main(argv: list[str]) -> int:
    """Verify a program: 0 where no finding is confirmed and nothing ran wrong, 1 otherwise, 2 for wrong usage."""
    parser = _parser()
    options = parser.parse_args(argv)
    script = Path(options.program)
    if not options.module and not script.is_file():
        parser.error(f"no such file: {script}")
    if options.device is not None:
        try:
            torch.set_default_device(device_of(options.device))
        except DeviceMissing as error:
            parser.error(str(error))
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: no such folder: {options.json.parent}")
    folder = Path.cwd() if options.module else script.resolve().parent

    def program() -> object:
        if options.module:
            return runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        return runpy.run_path(str(script.resolve()), run_name="__main__")

    def say(text: str) -> None:
        if os.environ.get("RANK", "0") == "0":  # the others go through the same files
            print(f"verify: {text}", file=sys.stderr, flush=True)

    with _as_program(options.program, options.arguments, folder):
        spec = find_spec(options.program.partition(".")[0]) if options.module else None
        if options.module and spec is None:
            parser.error(f"no module named {options.program}")
        say(f"running {options.program}")
        start = spec.origin if spec is not None else str(script.resolve())
        folders = folders_of(start or str(folder / "__main__.py"))
        outcome = run(program, folders, not options.no_fingerprint, say, options.stale_reads)
    whole = gathered(outcome, options.patience)
    if whole is None:
        return 0  # rank 0 speaks for all
    print(whole)
    if options.json is not None:
        try:
            options.json.write_text(json.dumps(asdict(whole), indent=2) + "\n")
        except OSError as error:
            print(f"verify: cannot write {options.json}: {error.strerror}", file=sys.stderr)
            return USAGE_ERROR
    return whole.exit_status if whole.clean else 1


@contextmanager
def _as_program(name: str, arguments: list[str], folder: Path) -> Iterator[None]:
    """`sys.argv` and `sys.path` as the program would find them."""
    argv, path = sys.argv, sys.path[:]
    sys.argv = [name, *arguments]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
