"""`flake8-inplace verify`: what it says about programs that do what the linter said, and about those that do not."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from flake8_inplace.runtime.outcome import CONFIRMED, REFUTED, Outcome, Surprise, Verdict, merged
from flake8_inplace.runtime.verify import main

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"

HEAD = """\
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, change=True):
        y = torch.sigmoid(self.fc(x))
"""
BROKEN = HEAD + "        y += 1\n        return y\n\n\n"
GUARDED = HEAD + "        if change:\n            y += 1\n        return y\n"
IMPORT = "import torch\nfrom torch import nn\n\nfrom model import Net\n\n"
TRAIN = "net = Net()\nnet(torch.ones(2, 3)).sum().backward()\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def verify(project: Path, source: str, model: str = "") -> tuple[int, str, list[str]]:
    """Exit status, the first verdict, and the statuses of all; the linter does not look from one file into another."""
    (project / "train.py").write_text(source)
    (project / "model.py").write_text(model)
    sys.modules.pop("model", None)
    status = main(["--json", "outcome.json", "train.py"])
    outcome = json.loads((project / "outcome.json").read_text())
    verdicts = outcome["verdicts"]
    return status, verdicts[0]["why"] if verdicts else "", [verdict["status"] for verdict in verdicts]


def test_confirmed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, why, statuses = verify(project, BROKEN + TRAIN)
    assert (status, statuses) == (1, ["confirmed"])
    assert why == "backward needed what sigmoid saved at train.py:13 in forward"
    out, err = capsys.readouterr()
    assert out.startswith("train.py:14:11: TIP103 confirmed: ")
    assert "1 finding in 1 file: 1 confirmed, 0 refuted, 0 not reached; 0 without a finding; 0 backward passes" in out
    assert "verify: train.py: 1 finding" in err


def test_refuted(project: Path) -> None:
    train = "net = Net()\nfor _ in range(3):\n    y = net(torch.ones(2, 3)).detach()\n    net.fc(y).sum().backward()\n"
    status, why, statuses = verify(project, IMPORT + train, BROKEN)
    assert (status, statuses) == (0, ["refuted"])
    assert why == "the line ran 3 times, backward passed"


KEPT = """\
import torch


def f(x, k):
    y = x
    x.mul_(k)
    return x + y


def shift(rows: torch.Tensor, k):
    rows += k
    return rows


def report(rows: torch.Tensor, k):
    shifted = shift(rows, k)
    return shifted - rows


def trained(x):
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    best = net.state_dict()
    net(x).sum().backward()
    optimizer.step()
    net.load_state_dict(best)


"""
READS = {
    "a variable": ("f(torch.ones(3), 2.0)", ["confirmed"]),
    "the same value": ("f(torch.ones(3), 1.0)", ["refuted"]),
    "in the caller": ("report(torch.ones(3), 2.0)", ["confirmed"]),
    "a state": ("trained(torch.ones(2, 3))", ["confirmed"]),
}


@pytest.mark.parametrize(("run", "expected"), READS.values(), ids=READS)
def test_what_is_read_too_late(project: Path, run: str, expected: list[str]) -> None:
    """The value under the name that a finding gives is compared before and after the overwriting line."""
    _, _, statuses = verify(project, KEPT + run + "\n")
    assert [status for status in statuses if status != "not reached"] == expected


def test_no_property_is_run_to_look_a_value_up(project: Path) -> None:
    source = """\
import torch


class Net:
    def __init__(self):
        self._rows, self.asked = torch.ones(3), 0

    @property
    def rows(self):
        self.asked += 1
        return self._rows


def shrink(rows):
    rows.mul_(0.5)
    return rows.sum()


net = Net()
print(shrink(net.rows), net.rows)
assert net.asked == 2
"""
    _, _, statuses = verify(project, source)
    assert "confirmed" not in statuses


def test_not_reached(project: Path) -> None:
    status, why, statuses = verify(project, IMPORT + "Net()(torch.ones(2, 3), False).sum().backward()\n", GUARDED)
    assert (status, why, statuses) == (0, "the line did not run", ["not reached"])


def test_no_backward_is_no_refutation(project: Path) -> None:
    status, why, statuses = verify(project, IMPORT + "Net()(torch.ones(2, 3))\n", BROKEN)
    assert (status, statuses) == (0, ["not reached"])
    assert why == "the line ran 1 time, but no backward pass went through after it"


def test_hazard_without_a_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = "vars(operator)['iadd'](thing, 1)"
    (project / "other.py").write_text(f"def change(thing):\n    {call}\n\n\nimport operator\n")
    source = HEAD + "        other.change(y)\n        return y\n\n\n" + TRAIN
    status, _, statuses = verify(project, source.replace("import sys\n", "import other\n"))
    assert (status, statuses) == (1, [])
    out = capsys.readouterr().out
    assert "ran wrong without a finding:" in out
    assert "at other.py:2 in change" in out


def test_failing_program(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, _ = verify(project, "import torch\nraise ValueError('broken otherwise')\n")
    assert status == 1
    assert "the program ended with ValueError: broken otherwise" in capsys.readouterr().out


def test_write_that_pytorch_refuses(project: Path) -> None:
    source = "import torch\n\nx = torch.ones(3, requires_grad=True)\n{}x += 1\n"
    status, why, statuses = verify(project, source.format(""))
    assert (status, statuses) == (1, ["confirmed"])
    assert why.startswith("raised: a leaf Variable that requires grad")


def test_silent_write(project: Path) -> None:
    source = BROKEN.replace("y += 1", "y.data.add_(1)") + TRAIN
    status, why, statuses = verify(project, source)
    assert (status, statuses) == (1, ["confirmed"])
    assert why.endswith("and PyTorch itself would not have noticed")
    (project / "train.py").write_text(source)
    assert main(["--no-fingerprint", "train.py"]) == 0


def test_what_a_run_cannot_show(project: Path) -> None:
    source = "import torch\n\n\ndef f(x):\n    return x * x.add_(1)\n\n\nf(torch.ones(3))\n"
    status, why, statuses = verify(project, source)
    assert status == 0
    assert statuses == ["cannot be seen"]
    assert why.startswith("the line ran 1 time;")


def test_arguments_modules_and_exit_of_the_program(project: Path) -> None:
    (project / "package").mkdir()
    (project / "package" / "__main__.py").write_text(
        "import sys\nfrom pathlib import Path\nPath('seen').write_text(repr(sys.argv[1:]))\nsys.exit(0)\n"
    )
    assert main(["-m", "package", "--epochs", "1"]) == 0
    assert (project / "seen").read_text() == "['--epochs', '1']"


def test_progress(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_inplace.runtime.project.PROGRESS", 0.0)
    verify(project, "import torch\nfor _ in range(2):\n    torch.ones(3, requires_grad=True).exp().sum().backward()\n")
    assert capsys.readouterr().err.splitlines()[-2:] == ["verify: 1 backward pass", "verify: 2 backward passes"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["missing.py"], ["-m", "missing"], ["-m", "missing.too"], ["--device", "nonsense", "train.py"]],
    ids=str,
)
def test_usage(project: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("import torch\n")
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "usage: flake8-inplace verify" in capsys.readouterr().err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_device(project: Path) -> None:
    (project / "train.py").write_text("import torch\nassert torch.ones(1).is_cuda\n")
    try:
        assert main(["--device", "cuda", "train.py"]) == 0
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("name", [path.name for path in sorted(EXAMPLES.glob("*.py"))])
def test_examples(name: str) -> None:
    """What the shipped examples do wrong is confirmed, and nothing is refuted."""
    command = [sys.executable, "-m", "flake8_inplace.runtime.verify", f"docs/examples/{name}"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert " confirmed: " in done.stdout
    assert "0 refuted" in done.stdout
    assert "0 without a finding" in done.stdout


def environment() -> dict[str, str]:
    """One thread, and gloo on the loopback device: the name of a machine in a container may lead nowhere."""
    loopback = next((name for _, name in socket.if_nameindex() if name in ("lo", "lo0")), "")
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": loopback}


def test_merged_outcomes_of_ranks() -> None:
    verdict = Verdict("a.py", 1, 1, "TIP103", "message", REFUTED, "why")
    first = Outcome(1, 2, (verdict,), (Surprise("wrong"),), ("note",))
    second = Outcome(1, 3, (Verdict("a.py", 1, 1, "TIP103", "message", CONFIRMED, "why not"),), (), ("note",))
    whole = merged({0: first, 1: second})
    assert [(found.status, found.ranks) for found in whole.verdicts] == [(CONFIRMED, (1,))]
    assert whole.surprises == (Surprise("wrong", (0,)),)
    assert (whole.backward_passes, whole.notes, whole.clean) == (5, ("note",), False)
    assert merged({0: first, 1: first}).verdicts[0].ranks == (0, 1)


DISTRIBUTED = """
import os
import torch.distributed as dist

dist.init_process_group("gloo")
net = nn.parallel.DistributedDataParallel(Net())
for step in range(2):
    net(torch.ones(2, 3), {change}).sum().backward()
"""


@pytest.mark.skipif(not (dist.is_available() and dist.is_gloo_available()), reason="torch without gloo")
@pytest.mark.parametrize(
    ("change", "status", "line"),
    [
        ("False", 0, "model.py:15:15: TIP103 not reached on ranks 0, 1: the line did not run"),
        ("True", 1, "model.py:15:15: TIP103 confirmed on ranks 0, 1: backward needed what sigmoid saved"),
        ("dist.get_rank() == 1", 1, "model.py:15:15: TIP103 confirmed on rank 1: backward needed what sigmoid saved"),
    ],
    ids=["clean", "both", "one"],
)
def test_two_processes(project: Path, change: str, status: int, line: str) -> None:
    (project / "model.py").write_text(GUARDED)
    (project / "train.py").write_text(IMPORT + DISTRIBUTED.format(change=change))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launch, "-m", "flake8_inplace.runtime.verify", "--patience", "3", "train.py"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    if "connectFullMesh failed" in done.stderr:
        pytest.skip("the two processes could not connect by gloo")
    assert (done.returncode != 0) == (status != 0), done.stderr
    assert done.stdout.count("1 finding in 2 files") == 1, done.stderr
    assert line in done.stdout
