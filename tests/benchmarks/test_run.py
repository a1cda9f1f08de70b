"""The benchmarks still run. Their figures are for people to read, not for a test to judge."""

import json
import re
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parent


def test_run(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n\nh = torch.ones(3)\nh += 1\n")
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--rounds=1", f"--json={figures}", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, header, *rows = done.stdout.splitlines()
    assert first.endswith("1 files, 4 lines; median of 1, 1 job(s)")
    assert header.split() == ["flake8", "seconds", "added", "of", "plain", "lines/s", "MiB", "of", "plain"]
    costs = json.loads(figures.read_text())["costs"]
    assert list(costs) == ["plain", "with plugin"]
    for row, (name, cost) in zip(rows, costs.items(), strict=True):
        assert re.fullmatch(rf"{name} +{cost['seconds']:.2f} .* {cost['megabytes']:.0f} +\d\.\d\d", row)
        assert cost["seconds"] > 0
        assert 10 < cost["megabytes"] < 1000


def test_repeated(tmp_path: Path) -> None:
    body = "def f(x):\n    x += 1\n    return x\n\n\ndef g(x):\n    return f(x.exp()) + f(x.exp())\n"
    (tmp_path / "net.py").write_text(f"import torch\n\n\n{body}")
    command = [sys.executable, str(BENCHMARKS / "repeated.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shares = re.findall(r"^same (\w+) +(\d+\.\d)% of the time$", done.stdout, re.MULTILINE)
    assert [level for level, _ in shares] == ["kinds", "objects", "assumptions"]
    assert all(0 < float(share) < 100 for _, share in shares)
