"""What a large chunk of Python's stack saves: ``python tests/benchmarks/faults.py FOLDER``.

Prints page faults, and the seconds of the program and of the system, of `flake8-inplace check` without and with it.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from flake8_inplace import cpython


def main() -> None:
    for stack in ("usual", "large"):
        subprocess.run([sys.executable, __file__, stack, *sys.argv[1:]], check=True)


def measure(stack: str, folders: list[str]) -> None:
    from flake8_inplace import cli

    if stack == "usual":
        cpython.with_room.__code__ = cpython.with_room.__code__.replace(co_stacksize=3)
    cli.main(["check", "--no-cache", "--quiet", "--jobs", "1", *folders])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{stack}: {used.ru_minflt} faults, {used.ru_utime:.1f} and {used.ru_stime:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2:]) if sys.argv[1] in ("usual", "large") else main()
