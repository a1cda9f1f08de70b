"""What the plugin adds to flake8: seconds, and memory.

    python tests/benchmarks/run.py timm==1.0.31        # downloads and unpacks the wheel; imports nothing of it
    python tests/benchmarks/run.py path/to/folder --torchfix --json figures.json

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
    """One flake8: the Python that runs it, and the distribution that it is not to see."""

    python: str
    hidden: str
    options: tuple[str, ...] = ()

    def command(self, *arguments: str) -> list[str]:
        return [self.python, "-c", LAUNCH, self.hidden, "--isolated", *self.options, *arguments]


@dataclass(frozen=True)
class Cost:
    """Of one run: seconds from start to end, and the most memory of any of its processes."""

    seconds: float
    megabytes: float


def variants(torchfix: str | None, warm: str | None = None) -> dict[str, Variant]:
    """What is compared, by its name; each is asked whether it has the plugins that it should have.

    ``warm`` is the folder of a cache, which the run that is not counted fills.
    """
    found = {"plain": Variant(sys.executable, "flake8-inplace"), "with plugin": Variant(sys.executable, "nothing")}
    if warm:
        found["with plugin, warm"] = Variant(sys.executable, "nothing", (f"--inplace-cache={warm}",))
    if torchfix:
        found["with TorchFix"] = Variant(torchfix, "flake8-inplace")
    for name, variant in found.items():
        command = variant.command("--version")
        plugins = subprocess.run(command, capture_output=True, text=True, check=True).stdout.lower()
        assert ("flake8-inplace" in plugins, "torchfix" in plugins) == ("with plugin" in name, name == "with TorchFix")
    return found


def measure(folder: Path, compared: dict[str, Variant], rounds: int, jobs: int) -> dict[str, Cost]:
    """The median of the seconds and of the memory of each variant over a folder."""
    costs: dict[str, list[Cost]] = {name: [] for name in compared}
    for _ in range(-1, rounds):
        for name, variant in compared.items():
            costs[name].append(timed(variant.command("--exit-zero", "-qq", f"--jobs={jobs}", str(folder))))
    return {
        name: Cost(median(cost.seconds for cost in of), median(cost.megabytes for cost in of))
        for name, (_, *of) in costs.items()
    }


def timed(command: list[str]) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # so that it is not waited for again
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(seconds, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10))


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
    rows += [f"{'flake8':20} {'seconds':>8} {'added':>7} {'of plain':>9} {'lines/s':>8} {'MiB':>6} {'of plain':>9}"]
    for name, cost in costs.items():
        added = cost.seconds - plain.seconds
        rows.append(
            f"{name:20} {cost.seconds:8.2f} {added:7.2f} {added / plain.seconds:9.3f} {lines / cost.seconds:8.0f}"
            f" {cost.megabytes:6.0f} {cost.megabytes / plain.megabytes:9.2f}"
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        scratch, folder = Path(name), Path(options.target)
        if not folder.is_dir():
            folder = unpacked(options.target, scratch)
        torchfix = environment_of_torchfix(scratch / "torchfix") if options.torchfix == "make" else options.torchfix
        warm = str(scratch / "cache") if options.warm else None
        files = sorted(folder.rglob("*.py"))
        lines = sum(len(path.read_bytes().splitlines()) for path in files)
        costs = measure(folder, variants(torchfix, warm), options.rounds, options.jobs)
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
