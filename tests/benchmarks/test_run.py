"""The benchmarks still run. Their figures are for people to read, not for a test to judge."""

import re
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parent


def test_run(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n\nh = torch.ones(3)\nh += 1\n")
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--rounds=1", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, plain, plugin, added = done.stdout.splitlines()
    assert first.endswith("1 files, 4 lines; median of 1, 1 job(s)")
    assert re.match(r"flake8 plain +\d+\.\d\d s", plain)
    assert re.match(r"flake8 with plugin +\d+\.\d\d s", plugin)
    assert re.match(r"added -?\d+\.\d\d s: [+-]\d+\.\d%", added)


def test_repeated(tmp_path: Path) -> None:
    body = "def f(x):\n    x += 1\n    return x\n\n\ndef g(x):\n    return f(x.exp()) + f(x.exp())\n"
    (tmp_path / "net.py").write_text(f"import torch\n\n\n{body}")
    command = [sys.executable, str(BENCHMARKS / "repeated.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shares = re.findall(r"^same (\w+) +(\d+\.\d)% of the time$", done.stdout, re.MULTILINE)
    assert [level for level, _ in shares] == ["kinds", "objects", "assumptions"]
    assert all(0 < float(share) < 100 for _, share in shares)
