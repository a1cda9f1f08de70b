"""What a large chunk of Python's stack saves: ``python tests/benchmarks/faults.py FOLDER``.

Prints page faults, and the seconds of the program and of the system, of `flake8-inplace check` without and with it.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from flake8_inplace import checker, cli

STACKS = ("usual", "large")


def main(arguments: list[str]) -> None:
    if arguments[0] in STACKS:
        measure(arguments[0], arguments[1:])
        return
    for stack in STACKS:
        subprocess.run([sys.executable, __file__, stack, *arguments], check=True)


def measure(stack: str, folders: list[str]) -> None:
    if stack == "usual":
        checker.with_room = lambda function, *args: function(*args)
    cli.main(["check", "--no-cache", "--quiet", "--jobs", "1", *folders])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{stack}: {used.ru_minflt} faults, {used.ru_utime:.1f} and {used.ru_stime:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
