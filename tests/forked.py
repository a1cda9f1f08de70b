"""Programs and runs of flake8, each in a process of its own that is forked from one that has imported everything.

It is what `python -c TEXT` and `python -m flake8` do in a folder, without their start: torch is loaded once.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent

_SERVER = """
import json, os, sys, tempfile, traceback
import torch, torch._dynamo, torch.utils.data, numpy, flake8.main.cli, flake8.checker, flake8.style_guide
import flake8_inplace.checker, flake8_inplace.interpreter.schedule, flake8_inplace.sentences, flake8_inplace.verdicts

def work(request):
    os.chdir(request["folder"])
    sys.path[:0] = ["", *request["paths"]]
    sys.argv = [request["name"], *request["arguments"]]
    try:
        if request["name"] == "flake8":
            return flake8.main.cli.main(request["arguments"])
        exec(compile(request["text"], "<string>", "exec"), {"__name__": "__main__"})
        return 0
    except SystemExit as end:
        return end.code
    except BaseException:
        traceback.print_exc()
        return 1

sys.path = [path for path in sys.path if path]
for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), out.fileno(), err.fileno())):
                os.dup2(file, number)
            code = work(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(code or 0))
        _, status = os.waitpid(child, 0)
        texts = [file.seek(0) or file.read() for file in (out, err)]
    print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)
"""

_started: list[subprocess.Popen[str]] = []


def _ask(folder: Path, name: str, arguments: Iterable[str], paths: Iterable[str], text: str) -> tuple[int, str, str]:
    if not _started:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-B", "-c", _SERVER]
        _started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        )
    server = _started[0]
    assert server.stdin is not None and server.stdout is not None
    request = {"folder": str(folder), "name": name, "arguments": [*arguments], "paths": [*paths], "text": text}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    code, out, err = json.loads(server.stdout.readline())
    return code, out, err


def run(folder: Path, text: str, *arguments: str, paths: Iterable[str] = ()) -> tuple[int, str]:
    """Run a text as `python -c` does in a folder: the exit code, and what it wrote to stderr."""
    if not hasattr(os, "fork"):
        command = [sys.executable, "-B", "-c", text, *arguments]
        done = _process(folder, command, paths)
        return done.returncode, done.stderr
    code, _, err = _ask(folder, "-c", arguments, paths, text)
    return code, err


def lint(folder: Path, *arguments: str, paths: Iterable[str] = ()) -> str:
    """Run flake8 in a folder, and return what it prints. It writes nothing to stderr."""
    if not hasattr(os, "fork"):
        done = _process(folder, [sys.executable, "-m", "flake8", *arguments], paths)
        out, err = done.stdout, done.stderr
    else:
        _, out, err = _ask(folder, "flake8", arguments, paths, "")
    assert err == "", err
    return out


def _process(folder: Path, command: list[str], paths: Iterable[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)])}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
