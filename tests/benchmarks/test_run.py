"""The benchmarks still run. Their figures are for people to read, not for a test to judge."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flake8_inplace.heap import state

BENCHMARKS = Path(__file__).parent


def test_run(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n\nh = torch.ones(3)\nh += 1\n")
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--rounds=1", f"--json={figures}", str(tmp_path)]
    command += ["--warm", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, header, *rows = done.stdout.splitlines()
    assert first.endswith("1 files, 4 lines; median of 1, 1 job(s)")
    assert header.split() == "flake8 seconds added of plain elapsed lines/s MiB of plain".split()
    costs = json.loads(figures.read_text())["costs"]
    kept = ["check, 1 job(s)", "check, 2 job(s)", "check, warm"]
    assert list(costs) == ["plain", "with plugin", "with plugin, warm", *kept]
    for row, (name, cost) in zip(rows, costs.items(), strict=True):
        assert re.fullmatch(rf"{re.escape(name)} +{cost['seconds']:.2f} .* {cost['megabytes']:.0f} +\d\.\d\d", row)
        assert cost["seconds"] > 0
        assert 10 < cost["megabytes"] < 1000


@pytest.mark.skipif(not str(state.__file__).endswith(".py"), reason="it wraps functions, which native code calls past")
def test_repeated(tmp_path: Path) -> None:
    body = "def f(x):\n    x += 1\n    return x\n\n\ndef g(x):\n    return f(x.exp()) + f(x.exp())\n"
    (tmp_path / "net.py").write_text(f"import torch\n\n\n{body}")
    command = [sys.executable, str(BENCHMARKS / "repeated.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shares = re.findall(r"^same (\w+) +(\d+\.\d)% of the time$", done.stdout, re.MULTILINE)
    assert [level for level, _ in shares] == ["kinds", "objects", "assumptions"]
    assert all(0 < float(share) < 100 for _, share in shares)


def test_dump(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    hazard = "import torch\n\n\ndef f(x: torch.Tensor):\n    y = x.exp()\n    y += 1\n    return y\n"
    (tree / "net.py").write_text(hazard)
    (tree / "broken.py").write_text("def f(:\n")
    before, after = tmp_path / "before", tmp_path / "after"

    def dump(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(BENCHMARKS / "dump.py"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = dump(before, tree, "-j2")
    assert done.stdout == "1 files, 1 findings, 1 files skipped\n"
    assert done.stderr.startswith("tree/broken.py: skipped: SyntaxError: ")
    assert re.fullmatch(r"tree/net\.py:6:\d+ TIP103 .*\n", before.read_text())
    (tree / "net.py").write_text(hazard + "\n\n" + hazard.replace("exp", "sigmoid"))
    dump(after, tree)
    same, more = dump("--compare", before, before), dump("--compare", before, after)
    assert (same.returncode, same.stdout) == (0, "0 lines gone, 0 lines new, 1 before, 1 after\n")
    assert (more.returncode, more.stdout.splitlines()[1:]) == (1, ["0 lines gone, 1 lines new, 1 before, 2 after"])
    assert more.stdout.startswith("+ tree/net.py:15:")
