"""What the plugin adds to flake8: processor seconds, and memory.

    python tests/benchmarks/run.py timm==1.0.31        # downloads and unpacks the wheel; imports nothing of it
    python tests/benchmarks/run.py path/to/folder --torchfix --json figures.json
    python tests/benchmarks/run.py path/to/folder --compiled SITE --warm --check --scale

Plain flake8 is the same installation with this plugin's distribution hidden from flake8's search for plugins, so that
nothing of it is loaded. TorchFix pins an old libcst, so it is run by a Python of its own, with the same flake8. All
take turns, in new processes, after one run that is not counted.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

LAUNCH = """
import importlib.metadata, sys
every = importlib.metadata.distributions
hidden = sys.argv.pop(1)
importlib.metadata.distributions = lambda **query: (d for d in every(**query) if d.metadata["Name"] != hidden)
from flake8.main.cli import main
sys.exit(main())
"""
TORCHFIX = "torchfix==0.7.0"


@dataclass(frozen=True)
class Variant:
    """One program that is measured: its command, to which the folder is added, and where its package is."""

    command: tuple[str, ...]
    site: str = ""
    statuses: tuple[int, ...] = (0,)

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": self.site} if self.site else dict(os.environ)


def flake8(python: str, hidden: str, *options: str, site: str = "") -> Variant:
    """A flake8 that does not see one distribution."""
    return Variant((python, "-c", LAUNCH, hidden, "--isolated", "--exit-zero", "-qq", *options), site)


@dataclass(frozen=True)
class Cost:
    """Of one run: processor seconds, seconds from start to end, and the most memory of any of its processes in MiB."""

    seconds: float
    elapsed: float
    megabytes: float


def variants(options: argparse.Namespace, torchfix: str | None, scratch: Path) -> dict[str, Variant]:
    """What is compared, by its name. What has a warm cache fills it in the run that is not counted."""
    python, jobs, site = sys.executable, f"--jobs={options.jobs}", options.compiled and str(options.compiled.resolve())
    found = {"plain": flake8(python, "flake8-inplace", jobs), "with plugin": flake8(python, "nothing", jobs)}
    if site:
        found["with plugin, compiled"] = flake8(python, "nothing", jobs, site=site)
    if options.warm:
        found["with plugin, warm"] = flake8(python, "nothing", jobs, f"--inplace-cache={scratch / 'cache'}")
    if torchfix:
        found["with TorchFix"] = flake8(torchfix, "flake8-inplace", jobs)
    for name, variant in found.items():
        asked = subprocess.run(
            [*variant.command, "--version"], capture_output=True, text=True, check=True, env=variant.environment()
        )
        plugins = asked.stdout.lower()
        assert ("flake8-inplace" in plugins, "torchfix" in plugins) == ("with plugin" in name, name == "with TorchFix")
    if options.check:
        check = (python, "-m", "flake8_inplace", "check", "--exit-zero", "--quiet")
        for count in (1, 2):
            command = (*check, f"--jobs={count}")
            found[f"check, {count} job(s)"] = Variant((*command, "--no-cache"))
            if site:
                found[f"check, {count} job(s), compiled"] = Variant((*command, "--no-cache"), site)
        found["check, warm"] = Variant((*check, "--jobs=1"))
    if options.scale:
        found["pyflakes"] = Variant((python, "-m", "pyflakes"), statuses=(0, 1))  # 1: it found something
        found["ruff"] = Variant((python, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--quiet"))
    return found


def measure(folder: Path, compared: dict[str, Variant], rounds: int, scratch: Path) -> dict[str, Cost]:
    """The median of the figures of each variant over a folder. They run in ``scratch``, where a cache may be put."""
    costs: dict[str, list[Cost]] = {name: [] for name in compared}
    for _ in range(-1, rounds):
        for name, variant in compared.items():
            costs[name].append(timed(variant, folder.resolve(), scratch))
    return {
        name: Cost(
            median(cost.seconds for cost in of),
            median(cost.elapsed for cost in of),
            median(cost.megabytes for cost in of),
        )
        for name, (_, *of) in costs.items()
    }


def timed(variant: Variant, target: Path, scratch: Path) -> Cost:
    command = [*variant.command, str(target)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=variant.environment(), cwd=scratch)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # so that it is not waited for again
    if process.returncode not in variant.statuses:
        raise subprocess.CalledProcessError(process.returncode, command)
    megabytes = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return Cost(usage.ru_utime + usage.ru_stime, elapsed, megabytes)


def unpacked(requirement: str, into: Path) -> Path:
    """The Python files of a wheel, by name and version."""
    options = ["-q", "--no-deps", "--only-binary=:all:", "-d", str(into)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, requirement], check=True)
    folder = into / "unpacked"
    for wheel in into.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
    return folder


def environment_of_torchfix(into: Path) -> str:
    """A Python that has TorchFix, and the flake8 that runs here."""
    venv.create(into, with_pip=True)
    python = str(into / "bin" / "python")
    wanted = [f"{name}=={version(name)}" for name in ("flake8", "pycodestyle", "pyflakes")]
    subprocess.run([python, "-m", "pip", "install", "-q", TORCHFIX, *wanted], check=True)
    return python


def text(figures: dict[str, object], costs: dict[str, Cost], lines: int) -> str:
    plain = costs["plain"]
    rows = ["{target}: {files} files, {lines} lines; median of {rounds}, {jobs} job(s)".format(**figures)]
    header = ("seconds", "added", "of plain", "elapsed", "lines/s", "MiB", "of plain")
    rows.append(" ".join([f"{'flake8':26}", *(f"{name:>8}" for name in header)]))
    for name, cost in costs.items():
        added = cost.seconds - plain.seconds
        rows.append(
            f"{name:26} {cost.seconds:8.2f} {added:8.2f} {added / plain.seconds:8.3f} {cost.elapsed:8.2f}"
            f" {lines / cost.seconds:8.0f} {cost.megabytes:8.0f} {cost.megabytes / plain.megabytes:8.2f}"
        )
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What flake8-inplace adds to flake8.")
    parser.add_argument("target", help="a folder, or name==version of a wheel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--torchfix",
        nargs="?",
        const="make",
        metavar="PYTHON",
        help=f"compare with {TORCHFIX} too, of this Python; without one, an environment is made for it",
    )
    parser.add_argument("--warm", action="store_true", help="measure the plugin with a warm cache too")
    parser.add_argument("--compiled", type=Path, metavar="FOLDER", help="where the compiled package was installed to")
    parser.add_argument("--check", action="store_true", help="measure `flake8-inplace check` too, cold and warm")
    parser.add_argument("--scale", action="store_true", help="measure pyflakes and ruff too, if they are installed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        scratch, folder = Path(name), Path(options.target)
        if not folder.is_dir():
            folder = unpacked(options.target, scratch)
        torchfix = environment_of_torchfix(scratch / "torchfix") if options.torchfix == "make" else options.torchfix
        files = sorted(folder.rglob("*.py"))
        lines = sum(len(path.read_bytes().splitlines()) for path in files)
        costs = measure(folder, variants(options, torchfix, scratch), options.rounds, scratch)
    figures = {
        "target": options.target,
        "files": len(files),
        "lines": lines,
        "rounds": options.rounds,
        "jobs": options.jobs,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("flake8", "flake8-inplace", "libcst")},
        "costs": {name: asdict(cost) for name, cost in costs.items()},
    }
    print(text(figures, costs, lines))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
