"""The benchmark still runs. Its figures are for people to read, not for a test to judge."""

import re
import subprocess
import sys
from pathlib import Path


def test_run(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n\nh = torch.ones(3)\nh += 1\n")
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, str(script), "--rounds=1", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, plain, plugin, added = done.stdout.splitlines()
    assert first.endswith("1 files, 4 lines; median of 1, 1 job(s)")
    assert re.match(r"flake8 plain +\d+\.\d\d s", plain)
    assert re.match(r"flake8 with plugin +\d+\.\d\d s", plugin)
    assert re.match(r"added -?\d+\.\d\d s: [+-]\d+\.\d%", added)
