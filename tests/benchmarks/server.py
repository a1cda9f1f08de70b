"""The language server under edits: seconds from an edit to its diagnostics, and the memory of the server. For Linux.

    python -m pip install --no-deps --target /tmp/timm timm==1.0.31
    python tests/benchmarks/server.py /tmp/timm --package timm

The largest file of the package is opened, and edited in turn in two ways, each at another function: a statement that
overwrites a saved tensor is added, or taken away again. The seconds include the pause for which the server waits until
a text stays as it is.
"""

import argparse
import asyncio
import os
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from test_server import session

from flake8_inplace.commands.server import PAUSE

FORWARD = re.compile(r"^    def forward\(\s*self,\s*x: torch\.Tensor[^()]*\)[^:]*:\n", re.MULTILINE)
HAZARD = "        edited = torch.sigmoid(x * 2)\n        edited += 1\n        edited.sum().backward()\n"


def server() -> int:
    """Return the process of the server, the only child of this one."""
    own = os.getpid()
    [child] = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    return int(child)


def resident(process: int) -> float:
    """Return the memory of the server in MiB."""
    for row in Path(f"/proc/{process}/status").read_text().splitlines():
        if row.startswith("VmRSS:"):
            return int(row.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def processor(process: int) -> float:
    """Return the processor seconds that the server has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def texts(text: str, number: int) -> list[str]:
    """Return the texts after each of some edits."""
    places = [match.end() for match in FORWARD.finditer(text)]
    assert places, "the file has no forward(self, x: torch.Tensor)"
    found = []
    for index in range(number):
        at = places[index // 2 % len(places)]
        found.append(text if index % 2 else text[:at] + HAZARD + text[at:])
    return found


async def measure(folder: Path, package: str, edits: int) -> None:
    path = max((folder / package).rglob("*.py"), key=lambda path: (path.stat().st_size, path))
    name, text = path.relative_to(folder).as_posix(), path.read_text()
    async with session(folder, "--no-cache") as editor:
        process = server()
        begin = time.perf_counter()
        editor.open(name, text)
        known = len(await editor.next_diagnostics(name))
        print(f"{name}: {text.count(chr(10))} lines, {known} findings")
        took = time.perf_counter() - begin
        print(f"open to diagnostics: {took:.2f} s; memory {resident(process):.0f} MiB", flush=True)
        seconds: list[float] = []
        used = processor(process)
        for number, after in enumerate(texts(text, edits), 1):
            begin = time.perf_counter()
            editor.change(name, after, number + 1)
            found = len(await editor.next_diagnostics(name))
            seconds.append(time.perf_counter() - begin)
            assert found == known + number % 2, f"edit {number}: {found} findings"
            if number in (1, 10, 50, 100, edits):
                print(f"after {number} edits: memory {resident(process):.0f} MiB", flush=True)
        used = processor(process) - used
    ordered = sorted(seconds)
    print(
        f"edit to diagnostics, of which {PAUSE} s are the pause: median {statistics.median(ordered):.2f} s, "
        f"90th percentile {ordered[len(ordered) * 9 // 10]:.2f} s, most {ordered[-1]:.2f} s"
    )
    print(f"processor: {used / edits:.2f} s an edit")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure flake8-inplace server.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", default=".", help="where the file is looked for, in the folder")
    parser.add_argument("--edits", type=int, default=200)
    given = parser.parse_args()
    asyncio.run(measure(given.folder.resolve(), given.package, given.edits))


if __name__ == "__main__":
    main()
