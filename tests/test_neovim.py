"""The language server in an editor: neovim's built-in client, without a screen."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import CLEAN, HAZARD, ROOT

pytest.importorskip("pygls", reason="pygls is not installed")
NEOVIM = shutil.which("nvim")
SAID = """\
6:7-9 TIP103 `h += 1` overwrites sigmoid's saved result (line 5): backward raises
write `h = h + ...`
action 1: write `h = h + ...` (preferred)
action 2: Silence TIP103 here with a noqa comment
line 6:     h = h + 1
"""


@pytest.mark.skipif(NEOVIM is None, reason="neovim is not installed")
def test_open_diagnostic_action_and_the_text_afterwards(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    programs = tmp_path / "bin"
    programs.mkdir()
    server = programs / "flake8-inplace"
    server.write_text(f'#!/bin/sh\nexec {sys.executable} -m flake8_inplace "$@"\n')
    server.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    done = subprocess.run(
        [str(NEOVIM), "--headless", "-u", "NONE", "-n", "net.py", "-c", f"luafile {ROOT / 'tests/data/neovim.lua'}"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == SAID
    assert SAID in (ROOT / "docs" / "commands.md").read_text()
    assert (tmp_path / "net.py").read_text() == CLEAN
