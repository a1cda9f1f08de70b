"""``flake8-inplace``: the commands around the plugin. Each is a module of its own, imported when it is called."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from . import __version__

#: Name, where its `main` stands, and what it does. `main` takes the arguments behind the name and returns the status.
COMMANDS = {
    "check": ("flake8_inplace.commands.check:main", "lint files, notebooks or standard input"),
    "fix": ("flake8_inplace.commands.fix:main", "show or write what to do about the findings"),
    "server": ("flake8_inplace.commands.server:main", "serve editors by the language server protocol"),
    "explain": ("flake8_inplace.commands.explain:main", "show the page of a rule"),
    "verify": ("flake8_inplace.runtime.verify:main", "run a program and say which findings the run confirms"),
    "ops": ("flake8_inplace.runtime.conformance:main", "execute the facts and the rules' examples on a device"),
    "memory": ("flake8_inplace.runtime.memory:main", "measure what in-place operations really save"),
}
COMPLETION = ("flake8_inplace.commands.completion:main", "print a completion script for a shell")
"""What ``--print-completion`` stands for."""
SHELLS = ("bash", "zsh")
#: Packages that a command may lack, and the extra that brings each.
EXTRAS = {
    "torch": "runtime",
    "pygls": "server",
    "lsprotocol": "server",
    "watchfiles": "watch",
    "shtab": "completion",
}
USAGE_ERROR = 2
INTERRUPTED = 130
"""The status after Ctrl-C, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The status is 0 (nothing found), 1 (something found), 2 (it cannot run) or 130 (Ctrl-C)."""
    try:
        status = run(*chosen(sys.argv[1:] if arguments is None else arguments))
        if arguments is None:  # all is said: Ctrl-C while Python shuts down would only spoil the status
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        print("flake8-inplace: stopped", file=sys.stderr)
        status = INTERRUPTED
    if status == INTERRUPTED and arguments is None:  # at once, whatever its processes still hold
        sys.stdout.flush()
        os._exit(status)
    return status


def chosen(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The command that the arguments name, and the arguments behind it."""
    parser = argparse.ArgumentParser(
        prog="flake8-inplace",
        description="Find and mend in-place operations that break PyTorch's autograd.",
        epilog="commands:\n" + "".join(f"  {name:<9} {text}\n" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"flake8-inplace {__version__}")
    wanted = f"{COMPLETION[1]}, and end: {', '.join(SHELLS)}"
    parser.add_argument("--print-completion", action=_Completion, choices=SHELLS, metavar="SHELL", help=wanted)
    parser.add_argument("command", choices=COMMANDS, metavar="command", help="one of those below; each has --help")
    if not arguments:
        parser.print_help(sys.stderr)
        parser.exit(USAGE_ERROR)
    words = [number for number, word in enumerate(arguments) if not word.startswith("-")]
    end = words[0] + 1 if words else len(arguments)
    return parser.parse_args(arguments[:end]).command, [*arguments[end:]]


class _Completion(argparse.Action):
    """Print the script as soon as the option is read; no command has to follow."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        parser.exit(run("--print-completion", [str(values)]))


def run(command: str, arguments: Sequence[str]) -> int:
    """Run a command of the table, and say in plain words why it cannot run."""
    target, purpose = COMMANDS.get(command, COMPLETION)
    module, _, function = target.partition(":")
    try:
        try:
            return int(getattr(importlib.import_module(module), function)(arguments))
        except ModuleNotFoundError as error:  # neither is a dependency of the linter
            return _lacking(command, arguments, purpose, error)
    except BrokenPipeError:  # `flake8-inplace check | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # `flake8-inplace check > report.txt` on a full disk
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("flake8-inplace: standard output: cannot be written: no space left on the device", file=sys.stderr)
        return USAGE_ERROR


def _lacking(command: str, arguments: Sequence[str], purpose: str, error: ModuleNotFoundError) -> int:
    """Say what a command needs that is not installed. Its purpose is told without."""
    extra = EXTRAS.get(error.name or "")
    if extra is None:
        raise error
    if {"-h", "--help"} & set(arguments):
        print(f"usage: flake8-inplace {command} [options] ...\n\n{purpose}\n")
        print(f"The options are listed where it can run: pip install 'flake8-inplace[{extra}]'", flush=True)
        return 0
    print(f"flake8-inplace {command}: needs {error.name}: pip install 'flake8-inplace[{extra}]'", file=sys.stderr)
    return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
