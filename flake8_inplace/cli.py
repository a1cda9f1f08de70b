"""``flake8-inplace``: the commands around the plugin. Each is a module of its own, imported when it is called."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from . import __version__

#: Name, where its `main` stands, and what it does. `main` takes the arguments behind the name and returns the status.
COMMANDS = {
    "check": ("flake8_inplace.commands.check:main", "lint files, notebooks or standard input"),
    "fix": ("flake8_inplace.commands.fix:main", "show or write what to do about the findings"),
    "explain": ("flake8_inplace.commands.explain:main", "show the page of a rule"),
    "verify": ("flake8_inplace.runtime.verify:main", "run a program and say which findings the run confirms"),
    "ops": ("flake8_inplace.runtime.conformance:main", "execute the facts and the rules' examples on a device"),
    "memory": ("flake8_inplace.runtime.memory:main", "measure what in-place operations really save"),
}
USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The status is 0 where nothing is found, 1 where something is, 2 where it cannot run."""
    parser = argparse.ArgumentParser(
        prog="flake8-inplace",
        description="Find and mend in-place operations that break PyTorch's autograd.",
        epilog="commands:\n" + "".join(f"  {name:<9} {text}\n" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"flake8-inplace {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="command", help="one of those below; each has --help")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    module, _, function = COMMANDS[given.command][0].partition(":")
    try:
        return int(getattr(importlib.import_module(module), function)(given.arguments))
    except BrokenPipeError:  # `flake8-inplace check | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("flake8-inplace: stopped", file=sys.stderr)
        return USAGE_ERROR
    except ModuleNotFoundError as error:  # torch is no dependency of the linter
        if error.name != "torch":
            raise
        print(f"flake8-inplace {given.command}: needs PyTorch: pip install flake8-inplace[runtime]", file=sys.stderr)
        return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
