"""What needs a package of its own: watching files, pages in the terminal, and the completion of shells."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from test_cli import CLEAN, HAZARD, ROOT, project, run

from flake8_inplace.cli import COMMANDS, SHELLS, USAGE_ERROR, main


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [("watchfiles", "watch", ["check", "--watch"]), ("shtab", "completion", ["--print-completion", "bash"])],
)
def test_a_missing_package_is_one_line(
    package: str, extra: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in ("watch", "completion"):
        monkeypatch.delitem(sys.modules, f"flake8_inplace.commands.{module}", raising=False)
    try:
        status = main(arguments)
    except SystemExit as end:  # an option of the parser
        status = int(end.code or 0)
    wanted = f"flake8-inplace {arguments[0]}: needs {package}: pip install 'flake8-inplace[{extra}]'\n"
    assert (status, *capsys.readouterr()) == (USAGE_ERROR, "", wanted)


# Pages in the terminal


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize("blocked", [False, True], ids=["rich", "without rich"])
def test_a_page_in_a_terminal(blocked: bool) -> None:
    """It goes through the pager. With rich it is laid out; without, it is the Markdown."""
    import pty

    if not blocked:
        pytest.importorskip("rich")
    code = (
        f"import sys; sys.modules.update({{'rich.console': None}} if {blocked} else {{}}); "
        "from flake8_inplace.cli import main; sys.exit(main(['explain', 'TIP103']))"
    )
    ours, theirs = pty.openpty()
    path = os.pathsep.join([str(ROOT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "PAGER": "sed s/^/paged:/", "TERM": "dumb", "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdin=theirs, stdout=theirs)
    os.close(theirs)
    shown = bytearray()
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0
    text = shown.decode()
    assert text.startswith("paged:") and "TIP103: an augmented assignment" in text
    assert ("```python" in text) is blocked
    assert "\033[" not in text


# Watching


def lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    """Yield what a run prints up to the line that it waits."""
    assert process.stdout is not None
    for line in process.stdout:
        if "waiting for changes" in line:
            return
        yield line


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_watch(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    project(tmp_path, net=HAZARD)
    process = subprocess.Popen(
        [sys.executable, "-m", "flake8_inplace", "check", "--quiet", "--watch", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # what a shell starts with `&` ignores it
    )
    try:
        assert ["TIP103" in line for line in lines(process)] == [True]
        (tmp_path / "net.py").write_text(CLEAN)
        assert list(lines(process)) == []
        (tmp_path / "notes.txt").write_text("of no matter")
        (tmp_path / ".flake8").write_text("[flake8]\nextend-select = TIP9\n")
        (tmp_path / "net.py").write_text(HAZARD)
        assert any("TIP103" in line for line in lines(process))
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, "Traceback" in output) == (130, False)


@pytest.mark.parametrize("option", ["-", "--diff=-", "--add-noqa", "--baseline=k.json --write-baseline"])
def test_what_watch_does_not_go_with(tmp_path: Path, option: str) -> None:
    assert "--watch goes with" in run("check", "--watch", *option.split(), cwd=tmp_path, status=USAGE_ERROR).stderr


# Completion


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(tmp_path: Path, shell: str) -> None:
    pytest.importorskip("shtab")
    script = run("--print-completion", shell, cwd=tmp_path, status=0).stdout
    assert all(word in script for word in COMMANDS)
    assert all(word in script for word in ("--baseline", "--unsafe-fixes", "TIP103"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [("ch", {"check"}), ("check --add", {"--add-noqa"}), ("fix --uns", {"--unsafe-fixes"}), ("explain TIP90", None)],
)
def test_bash_completes(tmp_path: Path, words: str, wanted: set[str] | None) -> None:
    pytest.importorskip("shtab")
    script = run("--print-completion", "bash", cwd=tmp_path, status=0).stdout
    typed = ["flake8-inplace", *words.split()]
    code = (
        f"COMP_WORDS=({' '.join(typed)}); COMP_CWORD={len(typed) - 1}; _shtab_flake8_inplace flake8-inplace"
        f" {typed[-1]} {typed[-2]}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{code}"], cwd=tmp_path, capture_output=True, text=True)
    assert set(done.stdout.split()) == (wanted or {f"TIP90{number}" for number in range(1, 6)}), done.stderr
