"""Seconds that the plugin adds to flake8.

    python tests/benchmarks/run.py timm==1.0.31        # downloads and unpacks the wheel; imports nothing of it
    python tests/benchmarks/run.py path/to/folder

Plain flake8 is the same installation with this plugin's distribution hidden from flake8's search for plugins, so that
nothing of it is loaded. The two take turns, in new processes, after one run that is not counted.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
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
HIDDEN = {"plain": "flake8-inplace", "with plugin": "nothing"}


def flake8(variant: str, *arguments: str) -> str:
    command = [sys.executable, "-c", LAUNCH, HIDDEN[variant], "--isolated", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def measure(folder: Path, rounds: int, jobs: int) -> dict[str, float]:
    """Median seconds of plain flake8 and of flake8 with the plugin over a folder."""
    for variant in HIDDEN:
        assert ("flake8-inplace" in flake8(variant, "--version")) == (variant == "with plugin"), variant
    seconds: dict[str, list[float]] = {variant: [] for variant in HIDDEN}
    for counted in range(-1, rounds):
        for variant, times in seconds.items():
            start = time.perf_counter()
            flake8(variant, "--exit-zero", "-qq", f"--jobs={jobs}", str(folder))
            if counted >= 0:
                times.append(time.perf_counter() - start)
    return {variant: median(times) for variant, times in seconds.items()}


def unpacked(requirement: str, into: Path) -> Path:
    """The Python files of a wheel, by name and version."""
    options = ["-q", "--no-deps", "--only-binary=:all:", "-d", str(into)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, requirement], check=True)
    folder = into / "unpacked"
    for wheel in into.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
    return folder


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Seconds that flake8-inplace adds to flake8.")
    parser.add_argument("target", help="a folder, or name==version of a wheel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.target)
        if not folder.is_dir():
            folder = unpacked(options.target, Path(scratch))
        files = sorted(folder.rglob("*.py"))
        lines = sum(len(path.read_bytes().splitlines()) for path in files)
        seconds = measure(folder, options.rounds, options.jobs)
    plain, added = seconds["plain"], seconds["with plugin"] - seconds["plain"]
    print(f"{options.target}: {len(files)} files, {lines} lines; median of {options.rounds}, {options.jobs} job(s)")
    for variant, value in seconds.items():
        print(f"flake8 {variant:12} {value:7.2f} s  {lines / value:9.0f} lines/s")
    print(f"added {added:.2f} s: {added / plain:+.1%}, {1e6 * added / max(1, lines):.1f} microseconds a line")


if __name__ == "__main__":
    main()
