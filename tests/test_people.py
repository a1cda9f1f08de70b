"""What people see: where a finding is, what it says, and how the command answers to what they type."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from test_cli import CLEAN, HAZARD, ROOT, notebook, project, rows, run, validated

from flake8_inplace.analysis import analyze
from flake8_inplace.cli import COMMANDS
from flake8_inplace.commands.changed import parse
from flake8_inplace.commands.noqa import commented
from flake8_inplace.finding import Finding
from flake8_inplace.runtime.pages import fenced

CASES = ROOT / "tests" / "cases"


def findings(name: str) -> list[Finding]:
    return list(analyze((CASES / f"{name}.py").read_text()).findings)


# Findings


def test_headlines_are_short_and_name_their_places() -> None:
    found = [finding for path in sorted(CASES.glob("*.py")) for finding in analyze(path.read_text()).findings]
    lengths = sorted(len(finding.message) for finding in found)
    assert lengths[len(lengths) // 2] <= 95
    assert lengths[len(lengths) * 9 // 10] <= 100 and lengths[-1] <= 105
    for finding in found:
        assert any(f"line {other.place.line}" in finding.text for other in finding.related)
        assert "torch refuses" not in finding.text and " above" not in finding.text


def test_d2_inplace_true_is_named_where_it_stands() -> None:
    [found] = findings("dropout_in_place_on_a_gate")
    lines = (CASES / "dropout_in_place_on_a_gate.py").read_text().split("\n")
    assert found.help == "drop `inplace=True` on line 18"
    assert "inplace=True" in lines[17]
    [called] = findings("act_first_resblock_shortcut_saved_input")
    assert (called.code, called.help) == ("TIP107", "drop `inplace=True` on line 17")


def test_d2_one_caret_where_the_places_are_one(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.net = nn.Sequential(nn.Sigmoid(), nn.ReLU(inplace=True))\n\n"
        "    def forward(self, x: torch.Tensor):\n        return self.net(x)\n"
    )
    done = run("check", cwd=project(tmp_path, net=text), status=1)
    assert done.stdout.count("^") == 2  # the write and save, and where the module was built
    assert "drop `inplace=True` on line 8" in done.stdout


@pytest.mark.parametrize(
    ("name", "line", "note"),
    [
        ("captum_forward_hook_activation", 47, "read as `saved[0]` here"),
        ("torchvision_denormalize_batch", 47, "read as `batch` here"),
        ("iic_joint_probability_expand", 25, "expanded here"),
        ("eagle_no_grad_shift_view", 22, "made here"),
        ("perturbation_rescaled_through_data", 45, "used here"),
        ("early_stopping_best_state_reference", 36, "used here"),
        ("dqn_gradient_clamp_result_discarded", 32, "tensor made here"),
    ],
)
def test_d3_the_other_place(name: str, line: int, note: str) -> None:
    other = findings(name)[0].related[0]
    assert (other.place.line, other.note) == (line, note)


def test_the_other_place_of_a_discarded_result() -> None:
    [found] = analyze("import torch\n\nw = torch.ones(3)\nw.grad.clamp(0, 1)\n").findings
    assert [other.place.line for other in found.related] == [3]
    assert "(tensor made on line 3)" in found.message


def test_the_other_place_of_a_discarded_result_is_looked_for_in_its_own_function() -> None:
    text = "import torch\n\ndef f(w):\n    w.grad.clamp(0, 1)\n\ndef g(v):\n    w = torch.ones(3)\n    f(v)\n\n"
    text += "g(torch.ones(2))\n"
    [found] = analyze(text).findings
    assert [other.place.line for other in found.related] == [10]


def test_the_other_place_of_a_default_is_where_it_is_defined() -> None:
    text = "import torch\n\n\ndef add(x: torch.Tensor, total=torch.zeros(3)):\n    total += x\n    return total\n\n\n"
    [found] = analyze(f"{text}add(torch.ones(3))\n").findings
    assert "overwrites a value that is made once (defined on line 4)" in found.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h = torch.rand(3, 1).expand(3, 4)\nh[0] += 1", "writes to expanded memory (expanded on line 3)"),
        ("h = torch.zeros(1, 3).expand(2, 3)\nrow = h[0]\nrow.mul_(2)\nh", "elements share (made on line 3)"),
        ("hs = [torch.zeros(3)] * 2\nhs[0] += 1\nhs", "elements share (made on line 3)"),
        ("h = torch.ones(3, 2, requires_grad=True)\nh[0] *= 2\nh.sum().backward()", "requires grad (made on line 3)"),
        ("h = torch.ones(3, requires_grad=True) * 2\nh.resize_(4)", "on a tensor that requires grad (made on line 3)"),
    ],
)
def test_the_other_place_of_a_part_is_where_the_whole_is_made(text: str, said: str) -> None:
    [found] = analyze(f"import torch\n\n{text}\n").findings
    assert said in found.message and [other.place.line for other in found.related] == [3]


def test_a_value_that_the_write_itself_reads_is_on_the_same_line() -> None:
    text = "import torch\n\n\ndef project(grads):\n    kept = list(grads)\n    for g in kept:\n"
    text += "        for other in grads:\n            g -= other.sum() * other\n    return torch.stack(kept)\n\n\n"
    [found] = analyze(f"{text}project([torch.ones(2), torch.ones(2)])\n").findings
    assert "overwrites a value in use (read on the same line): silently wrong" in found.message


FUNCTION = """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        {}
        return {}

    @staticmethod
    def backward(ctx, grad, *rest):
        return grad * 2


{}
"""


@pytest.mark.parametrize(
    ("marked", "result", "call", "said"),
    [
        ("pass", "x", "", "overwrites an input not marked dirty (backward on line 12)"),
        ("pass", "x", "Scale.apply(torch.ones(2))", "overwrites an input not marked dirty (called on line 16)"),
        ("ctx.mark_dirty(x)", "x.sum()", "Scale.apply(torch.ones(2))", "doesn't return it (result made on line 9)"),
        (
            "ctx.mark_dirty(x)",
            "x, x.sum()",
            "h = torch.ones(2, 2, requires_grad=True) * 1\nScale.apply(h[0])",
            "returns another result too (view made on line 17)",
        ),
    ],
)
def test_the_other_place_in_a_custom_function(marked: str, result: str, call: str, said: str) -> None:
    found = analyze(FUNCTION.format(marked, result, call)).findings
    assert any(said in each.message for each in found), [each.message for each in found]


def test_the_other_place_of_a_state_that_is_loaded_in_a_loop() -> None:
    text = "import torch\n\nnet = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    text += "start = net.state_dict()\nfor _ in range(2):\n    net.load_state_dict(start)\n"
    text += "    net(torch.ones(1, 2)).sum().backward()\n    opt.step()\nnet.load_state_dict(start)\n"
    found = analyze(text).findings
    assert found and all(each.related for each in found)


def test_the_other_place_of_a_dataset_is_what_it_keeps() -> None:
    text = "import torch\nfrom torch.utils.data import Dataset\n\n\nclass Images(Dataset):\n    def __init__(self):\n"
    text += "        self.images = torch.rand(9, 3)\n\n    def __getitem__(self, index):\n"
    text += "        image = self.images[index]\n        image.mul_(2)\n        return image\n"
    [found] = analyze(text).findings
    assert "changes what the dataset keeps (made on line 7): again in every epoch, silently" in found.message


GATE = "import torch\n\n\ndef gate(w: torch.nn.Parameter):\n    h = torch.sigmoid(w)\n    {}\n    return {}\n"


@pytest.mark.parametrize(
    ("line", "result", "said"),
    [
        ("h.add_(1)", "h", "use `add` and assign the result"),
        ("h.mul_(2).add_(1)", "h", "use `mul` and assign the result"),
        ("g = h.add_(1)", "g", "use `add`"),
        ("pass", "h.add_(1)", "use `add`"),
        ("h.fill_(1)", "h", "write to a `clone()`"),
        ("h[0].add_(1)", "h", "write to a `clone()`"),
        ("h.diagonal().mul_(2)", "h", "write to a `clone()`"),
        ("h.exp().add_(1)", "h.exp().add_(1)", "use `add`"),
        ("torch.rand(3, out=h.detach())", "h", "drop `out=` and assign the result"),
        ("torch.relu_(h)", "h", "use `relu` and assign the result"),
        ("h[0] += 1", "h", "write to a `clone()`"),
        ("h[w > 0] += 1", "h", "write to a `clone()`"),
        ("hs = [h]; hs[0] += 1", "hs", "write `hs[0] = hs[0] + ...`"),
    ],
)
def test_the_remedy_helps(line: str, result: str, said: str) -> None:
    """What a method returns has to go somewhere, and a part of a tensor cannot be replaced by a new one."""
    found = analyze(GATE.format(line, result)).findings
    assert {each.help for each in found} == {said}


def test_a_value_that_saves_the_clone_is_computed_first() -> None:
    """`h = h.clone()` above the write is not enough where the right side saves the clone."""
    [found] = analyze(GATE.format("h[0] = h[1].sin()", "h")).findings
    assert found.help == "compute the value first, then write to a `clone()`"
    for line, raises in (
        ("h = h.clone(); h[0] = h[1].sin()", True),
        ("value = h[1].sin(); h = h.clone(); h[0] = value", False),
    ):
        text = GATE.format(line, "h")
        assert bool(analyze(text).findings) is raises
        scope: dict[str, Any] = {}
        exec(text, scope)
        result = scope["gate"](torch.rand(3, requires_grad=True)).sum()
        if raises:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                result.backward()
        else:
            result.backward()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x[:-1] = y", "(operand on line 3): PyTorch raises"),
        ("x += y.T", "(operand on line 4): PyTorch raises"),
    ],
)
def test_the_other_place_of_an_operand_is_where_it_is_made(line: str, said: str) -> None:
    y = "x[1:]" if line.startswith("x[") else "x"
    [found] = analyze(f"import torch\nx = torch.rand(3, 3)\ny = {y}\n{line}\n").findings
    assert said in found.message


def test_an_update_that_the_backward_of_the_next_iteration_needs() -> None:
    [carried] = findings("char_rnn_hidden_carried_with_retain_graph")
    assert carried.help == "run the forward again before the next backward, or `detach()` what it reuses"
    [between] = analyze((ROOT / "docs" / "examples" / "two_losses.py").read_text()).findings
    assert between.help == "update after that backward"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("maml_addmm_out_buffer", "an argument that requires grad (made on line 27)"),
        ("rnnt_grad_scaled_on_saved", " in backward (line 31) overwrites LatticeScore's saved value (line 60)"),
        ("snntorch_membrane_reset", "overwrites FastSigmoidSpike's saved input (line 38)"),
        ("swiglu_kernel_reuses_inputs_for_grads", "overwrites a tensor of the forward (in the backward on line 40)"),
        ("critic_weights_clamped_before_backward", "overwrites Linear's saved weight (line 28)"),
        ("moe_gates_renormalised_after_dropping", "overwrites `weights`, saved by square (line 32)"),
    ],
)
def test_the_places_are_what_the_message_says(name: str, said: str) -> None:
    assert said in findings(name)[0].message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("linalg.norm(h)", "`h`, saved by linalg.norm"),
        ("fn.softplus(h)", "`h`, saved by softplus"),
        ("torch.mm(w, h)", "`h`, saved by mm"),
        ("w.maximum(h)", "`h`, saved by maximum"),
        ("h.pow(2)", "`h`, saved by pow"),
        ("torch.dot(input=w, tensor=h)", "dot's saved argument"),
    ],
)
def test_a_saved_operand_is_called_what_the_program_calls_it(line: str, said: str) -> None:
    text = (
        "import torch\nimport torch.nn.functional as fn\nfrom torch import (\n    linalg,\n    nn,\n)\n\n\n"
        f"def f(w: nn.Parameter):\n    h = w * 1\n    y = {line}\n    h += 1\n    return y\n"
    )
    [found] = analyze(text).findings
    assert f"overwrites {said} (line 11)" in found.message


CLIPPED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def clip(self):
        with torch.no_grad():
            {}

    def forward(self, x):
        y = self.act(x) * self.w
        {}
        return y.exp()

    def act(self, x):
        return self.w.sigmoid() * 2
"""


@pytest.mark.parametrize(
    ("called", "line"),
    [
        ("self.w /= self.w.norm()", "self.clip()"),
        ("self.w.clamp_(0, 1)", "self.clip()"),
        ("self.w.data *= 2", "self.clip()"),
        ("self.w[0] = 0", "self.clip()"),
        ("pass", "self.w.data *= 2"),
    ],
)
def test_a_parameter_cannot_be_bound_anew(called: str, line: str) -> None:
    assert analyze(CLIPPED.format(called, line)).findings[0].help == "change it after that backward"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("output.mul_(2)", "use `mul` and return it"),
        ("output *= 2", "write `output = output * ...` and return it"),
        ("output[0] = 0", "write to a `clone()` and return it"),
    ],
)
def test_what_a_function_computes_is_to_be_handed_back(line: str, said: str) -> None:
    text = (
        "import torch\n\n\ndef scale(output):\n"
        f"    {line}\n\n\ndef gate(w: torch.nn.Parameter):\n    h = torch.sigmoid(w)\n    scale(h)\n    return h\n"
    )
    [found] = analyze(text).findings
    assert (found.code, found.help) == ("TIP107", said)


def test_the_mark_says_what_happens_there() -> None:
    for name, said in (
        ("objective_built_once_before_loop", "updated here"),
        ("teacher_logits_frozen_in_place", "unset here"),
    ):
        assert said in run("check", "--isolated", f"tests/cases/{name}.py", cwd=ROOT, status=1).stdout


def test_tied_weights_are_not_to_be_copied() -> None:
    """A `clone()` would untie them."""
    text = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 2), nn.Linear(2, 5, bias=False)
        self.head.weight = self.embed.weight
        with torch.no_grad():
            self.embed.weight[0] = 0
        nn.init.normal_(self.head.weight)


Model()
"""
    [found] = analyze(text).findings
    assert (found.code, found.line) == ("TIP303", 12)
    assert "overwrites a tied weight (values set on line 11): silently wrong" in found.message
    assert found.help == "initialise it before the values are set, or tie the weights afterwards"


def test_d3_the_other_place_in_every_format(tmp_path: Path) -> None:
    path = "tests/cases/captum_forward_hook_activation.py"
    text = run("check", "--isolated", path, cwd=ROOT, status=1).stdout
    assert "47 |         return saved[0]\n   |                ^ read as `saved[0]` here\n" in text
    [found] = json.loads(run("check", "--isolated", "--format=json", path, cwd=ROOT, status=1).stdout)["findings"]
    other = found["related"][0]
    assert (other["path"], other["line"]) == (path, 47)
    [run_] = validated(run("check", "--isolated", "--format=sarif", path, cwd=ROOT, status=1).stdout)["runs"]
    [result] = run_["results"]
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 47
    assert "[line 47](1)" in result["message"]["text"]


def test_the_other_place_in_another_file(tmp_path: Path) -> None:
    helper = "import torch\n\n\ndef shift(x):\n    return x.add_(1)\n"
    user = (
        "import torch\n\nfrom helper import shift\n\n\ndef gate(w: torch.nn.Parameter):\n"
        "    h = torch.sigmoid(w)\n    shift(h)\n    return h\n"
    )
    project(tmp_path, helper=helper, user=user)
    done = run("check", "user.py", cwd=tmp_path, status=1)
    assert "user.py:8:5: TIP107 `shift(h)` runs `x.add_(1)` (helper.py, line 5), which overwrites" in done.stdout
    assert "helper.py:\n5 |     return x.add_(1)\n" in done.stdout
    for form in ("json", "sarif"):
        report = run("check", "user.py", f"--format={form}", cwd=tmp_path, status=1).stdout
        assert '"helper.py"' in report
    [run_] = validated(report)["runs"]
    first, _ = run_["results"][0]["relatedLocations"]
    assert first["physicalLocation"]["artifactLocation"]["uri"] == "helper.py"


def test_the_previous_iteration_is_said() -> None:
    [found] = findings("noise_buffer_refilled_with_out")
    assert "`noise`, saved by mul (line 23, in the previous iteration): backward raises" in found.message


def test_d7_the_ban_names_its_own_operator() -> None:
    text = HAZARD.replace("h += 1", "h *= w")
    [ban] = [found for found in analyze(text, extra=frozenset({"style"})).findings if found.code == "TIP903"]
    assert ban.help == "write `h = h * ...`"


@pytest.mark.parametrize("line", ["h[0] += 1", "h[0].add_(1)", "h.fill_(1)"])
def test_a_ban_does_not_advise_what_is_banned(line: str) -> None:
    """`h[0] = h[0] + 1` and a write to a clone are in place too. The page shows what isn't."""
    text = HAZARD.replace("h += 1", line)
    [ban] = [found for found in analyze(text, extra=frozenset({"style"})).findings if found.code[:4] == "TIP9"]
    assert ban.help.startswith("build a new tensor")
    x, y = torch.rand(3), torch.rand(())
    written = x.clone()
    written[0] += y
    assert torch.equal(torch.cat([x[:1] + y, x[1:]]), written)


@pytest.mark.parametrize(
    ("second", "line"),
    [("    batch['labels'] = batch['ids']\n", 6), ("    batch = {'ids': x, 'labels': x}\n", 6)],
)
def test_the_other_place_of_a_second_key_is_where_it_was_stored(second: str, line: int) -> None:
    text = "import torch\n\n\ndef collate(x: torch.Tensor):\n    batch = {'ids': x.clone()}\n"
    [found] = analyze(f"{text}{second}    batch['ids'][x > 2] = 0\n    return batch\n").findings
    assert f"(stored under a second key on line {line})" in found.message


def test_an_array_is_to_be_copied_as_arrays_are() -> None:
    """They have no `clone()`."""
    text = "import torch\n\nx = torch.arange(3)\nkept = x.numpy()\n{}\nprint(x + 1)\n"
    for line, said in (("kept += 1", "keep a `copy()`"), ("kept.sort()", "keep a `copy()`")):
        [found] = analyze(text.format(line)).findings
        assert found.help == said
    [found] = analyze(text.replace(".numpy()", "").format("kept.sub_(1)")).findings
    assert found.help == "keep a `clone()`"


def test_d21_the_problem_matcher_is_in_the_package() -> None:
    """`.ci/wheel.py` looks for it in an installed wheel, tests/test_integrations.py reads findings with it."""
    name = "problem-matcher.json"
    assert (ROOT / "flake8_inplace" / name).exists()
    assert f'"flake8_inplace" = ["{name}"' in (ROOT / "pyproject.toml").read_text()
    assert f"/{name}" in (ROOT / "docs" / "commands.md").read_text()


def test_d22_an_assignment_is_called_one() -> None:
    [found] = findings("sigmoid_then_index_assign")
    assert found.message.startswith("`gate[1] = ...` overwrites")


# The command


@pytest.mark.parametrize(
    ("files", "last"),
    [
        ({"net": HAZARD}, "1 finding in 1 file"),
        ({"net": HAZARD, "more": HAZARD, "clean": CLEAN}, "2 findings in 3 files"),
        ({"clean": CLEAN}, "1 file clean"),
        ({"clean": CLEAN, "more": CLEAN}, "All 2 files clean"),
        ({}, "No files"),
    ],
)
def test_a_closing_line(tmp_path: Path, files: dict[str, str], last: str) -> None:
    done = run("check", cwd=project(tmp_path, **files))
    assert done.stdout.split("\n")[-2] == last


def test_quiet_and_exit_zero(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    done = run("check", "-q", cwd=tmp_path, status=1)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
    assert run("check", "--exit-zero", "--quiet", cwd=tmp_path, status=0).stdout == done.stdout
    same = run("check", "--output-format=json", cwd=tmp_path, status=1).stdout
    assert same == run("check", "--format=json", cwd=tmp_path, status=1).stdout


def test_d1_a_baseline_keeps_what_was_not_linted(tmp_path: Path) -> None:
    project(tmp_path, a=HAZARD, b=HAZARD, clean=CLEAN)
    run("check", "--baseline=k.json", "--write-baseline", ".", cwd=tmp_path, status=0)
    before = (tmp_path / "k.json").read_text()
    assert run("check", "--baseline=k.json", "clean.py", cwd=tmp_path, status=0).stderr == ""
    assert run("check", "--baseline=k.json", "./a.py", cwd=tmp_path, status=0).stderr == ""
    wrote = run("check", "--baseline=k.json", "--write-baseline", "clean.py", cwd=tmp_path, status=0).stderr
    assert "wrote 0 findings to k.json, and kept 2 of files that were not linted" in wrote
    assert (tmp_path / "k.json").read_text() == before
    (tmp_path / "a.py").unlink()  # a file that is no more is linted by nobody
    assert "1 entry no longer matches" in run("check", "--baseline=k.json", "b.py", cwd=tmp_path, status=0).stderr


def test_a_baseline_of_the_first_format_holds(tmp_path: Path) -> None:
    """Its fingerprints hold no message and no line: this one is from before the wording changed."""
    project(tmp_path, net=HAZARD)
    row = {"fingerprint": "OLD", "path": "net.py", "code": "TIP103", "text": "h += 1"}
    [found] = json.loads(run("check", "--format=json", cwd=tmp_path, status=1).stdout)["findings"]
    assert found["fingerprint"] == "d75e1c275f0e9bb11bdb39e7993c89a9"
    row["fingerprint"] = found["fingerprint"]
    (tmp_path / "k.json").write_text(json.dumps({"version": 1, "findings": [row]}))
    run("check", "--baseline=k.json", cwd=tmp_path, status=0)


def test_d15_a_baseline_of_a_later_format(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    (tmp_path / "k.json").write_text('{"version": 99, "findings": []}')
    assert "format 99" in run("check", "--baseline=k.json", cwd=tmp_path, status=2).stderr
    (tmp_path / "k.json").unlink()
    done = run("check", "--baseline=k.json", "--write-baseline", "net.py", "missing.py", cwd=tmp_path, status=2)
    assert "not written" in done.stderr and not (tmp_path / "k.json").exists()


def test_d4_fix_mends_notebooks(tmp_path: Path) -> None:
    notebook(tmp_path / "t.ipynb", "import torch\n%matplotlib inline", HAZARD)
    before = (tmp_path / "t.ipynb").read_text()
    done = run("fix", cwd=tmp_path, status=1)
    assert "t.ipynb:cell_2:6: TIP103 (safe) write `h = h + ...`" in done.stderr
    assert "+++ b/./t.ipynb cell 2" in done.stdout and "h = h + 1" in done.stdout
    assert (tmp_path / "t.ipynb").read_text() == before
    assert "1 fix made; 0 findings left" in run("fix", "--fix", cwd=tmp_path).stderr
    assert (tmp_path / "t.ipynb").read_text() == before.replace("h += 1", "h = h + 1")


def test_a_cell_without_a_fix_keeps_the_ends_of_its_lines(tmp_path: Path) -> None:
    notebook(tmp_path / "t.ipynb", "import torch", HAZARD)
    text = (tmp_path / "t.ipynb").read_text().replace('"import torch"', r'"import torch\r\n", "x = 1"')
    (tmp_path / "t.ipynb").write_text(text)
    run("fix", "--fix", cwd=tmp_path)
    assert (tmp_path / "t.ipynb").read_text() == text.replace("h += 1", "h = h + 1")


LAYOUTS = {
    "as Jupyter writes it": {"indent": 1, "ensure_ascii": False},
    "by tabs": {"indent": "\t", "ensure_ascii": False},
    "on one line": {"separators": (",", ":")},
    "escaped": {"indent": 2, "ensure_ascii": True},
}


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_mended_notebook_keeps_its_layout(tmp_path: Path, layout: dict[str, Any], end: str) -> None:
    first = {"cell_type": "markdown", "metadata": {}, "source": ["# F\u00fc\u00dfe\n"]}
    second = {"cell_type": "code", "metadata": {"b": 1, "a": 2}, "source": HAZARD.splitlines(keepends=True)}
    third = {
        "cell_type": "code",
        "metadata": {},
        "source": "!ls\nw = torch.ones(2, requires_grad=True)\nz = torch.exp(w)\nz[0] = 1\nz.sum().backward()",
    }
    cells = {"cells": [first, second, third], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(cells, **layout).replace("\n", end or "\n") + end
    (tmp_path / "t.ipynb").write_bytes(text.encode())
    run("fix", "--unsafe-fixes", cwd=tmp_path)
    lines = [line.replace("h += 1", "h = h + 1") for line in second["source"]]
    second["source"], third["source"] = lines, third["source"].replace("z[0]", "z = z.clone()\nz[0]")
    mended = json.dumps(cells, **layout).replace("\n", end or "\n") + end
    assert (tmp_path / "t.ipynb").read_bytes().decode() == mended


def test_a_fix_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    code = "import sys, pathlib, flake8_inplace.cli as cli\n"
    code += "def full(*_): raise PermissionError(13, 'Permission denied')\n"
    code += "pathlib.Path.write_bytes = full\nsys.exit(cli.main(['fix', '--fix', 'net.py']))\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "net.py: cannot be written: Permission denied" in done.stderr
    assert done.stderr.endswith("0 fixes made; 1 finding left\n")


def test_unsafe_fixes_are_named_where_only_safe_ones_are_written(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD.replace("h += 1", "h.data.mul_(2)"))
    done = run("fix", "--fix", cwd=tmp_path)
    assert done.stderr.endswith("0 fixes made; 1 finding left; --unsafe-fixes may mend more\n")
    assert "may mend more" not in run("fix", "--unsafe-fixes", cwd=tmp_path).stderr


def test_a_diff_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"net{number}.py").write_text(HAZARD)
    command = [sys.executable, "-m", "flake8_inplace", "fix", "--jobs=1", "."]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1 and said == ""


def test_a_file_that_is_given_twice_is_linted_once(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    done = run("check", "--quiet", "net.py", "./net.py", str(tmp_path / "net.py"), cwd=tmp_path)
    assert done.stdout.count("TIP103") == 1


def test_d10_fix_has_jobs_and_a_baseline(tmp_path: Path) -> None:
    project(tmp_path, **{f"net{number}": HAZARD for number in range(10)})
    run("check", "--baseline=k.json", "--write-baseline", "net0.py", cwd=tmp_path, status=0)
    run("fix", "--fix", "--jobs=2", "--baseline=k.json", cwd=tmp_path, status=0)
    assert [(tmp_path / f"net{number}.py").read_text() for number in range(10)] == [HAZARD, *[CLEAN] * 9]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a process group")
@pytest.mark.parametrize("wait", [0.3, 1.5, 3.0, 5.0])
def test_d5_an_interrupt_ends_the_run(tmp_path: Path, wait: float) -> None:
    text = (CASES / "vit_prenorm_residual_iadd.py").read_text()
    project(tmp_path, **{f"net{number}": text for number in range(400)})
    command = [sys.executable, "-m", "flake8_inplace", "check", "--isolated", "--jobs=2", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)
    stopped = time.monotonic()
    output, errors = process.communicate(timeout=20)
    assert time.monotonic() - stopped < 5  # a second, on a machine that does nothing else
    assert (process.returncode, b"Traceback" in errors, b"stopped" in errors) == (130, False, True)
    with pytest.raises(ProcessLookupError):  # no process of the group is left
        for _ in range(50):
            os.killpg(process.pid, 0)
            time.sleep(0.1)
    assert output == b"" or b"TIP103" in output


def test_d5_an_interrupt_after_the_report_changes_nothing(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    code = (
        "import os, signal, sys; from flake8_inplace.cli import main; sys.argv[1:] = ['check', '--isolated', '.']; "
        "status = main(); os.kill(os.getpid(), signal.SIGINT); sys.exit(status)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"")


def test_d6_operators_are_looked_up_beside_the_configuration(tmp_path: Path) -> None:
    facts = {"format": 1, "rows": ["gate|x:T|result<x||fresh"], "names": {"own.gate": [0]}}
    (tmp_path / "my.json").write_text(json.dumps(facts))
    (tmp_path / ".flake8").write_text("[flake8]\ninplace-ops = my.json\n")
    text = HAZARD.replace("import torch", "import own\nimport torch").replace("torch.sigmoid", "own.gate")
    project(tmp_path, net=text)
    (tmp_path / "sub").mkdir()
    command = [sys.executable, "-m", "flake8", "--select=TIP", "--config", "../.flake8", "../net.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path / "sub", env=environment, capture_output=True, text=True, timeout=60)
    assert "TIP103" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "option", ["--extend-select=TIP9", "--extend-select=TIP903", "--enable-extensions=TIP9", "--select=TIP1,TIP9"]
)
def test_d8_a_family_is_switched_on_by_its_codes(tmp_path: Path, option: str) -> None:
    project(tmp_path, net=HAZARD)
    assert "net.py:6:7 TIP903" in rows(run("check", option, cwd=tmp_path, status=1))


def test_d8_in_plain_flake8(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for option in ("--extend-select=TIP9", "--enable-extensions=TIP9"):
        command = [sys.executable, "-m", "flake8", "--isolated", option, "net.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert done.stdout.count("TIP903") == 1


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--select=TIP999", "select: no rule has the code TIP999"),
        ("--select=foo,bar!", "select: 'foo' is no code"),
        ("--extend-ignore=TIP1O3", "extend-ignore: 'TIP1O3' is no code"),
        ("--enable-extensions=TIP7", "enable-extensions: no rule has the code TIP7"),
        ("--enable-extensions=TIP1", "enable-extensions: TIP1 is no family that is off by default"),
    ],
)
def test_d8_unknown_codes_are_named(tmp_path: Path, option: str, said: str) -> None:
    assert said in run("check", option, cwd=project(tmp_path, net=CLEAN)).stderr


def test_d8_unknown_codes_are_named_in_the_configuration_too(tmp_path: Path) -> None:
    (project(tmp_path, net=HAZARD) / ".flake8").write_text("[flake8]\nenable-extensions = TIP7\n")
    said = "enable-extensions: no rule has the code TIP7"
    assert said in run("check", cwd=tmp_path, status=1).stderr
    done = run("check", "--config=.flake8", "--enable-extensions=TIP9", cwd=tmp_path, status=1)
    assert said not in done.stderr and "net.py:6:7 TIP903" in rows(done)
    assert said not in run("check", "--isolated", cwd=tmp_path, status=1).stderr


@pytest.mark.parametrize("command", ["verify", "memory", "ops"])
def test_d9_help_without_pytorch(command: str) -> None:
    code = "import sys; sys.modules['torch'] = None; from flake8_inplace.cli import main; sys.exit(main(sys.argv[1:]))"
    for option, status in (("--help", 0), ("x", 2)):
        done = subprocess.run(
            [sys.executable, "-c", code, command, option],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == status, done.stderr
        assert "pip install 'flake8-inplace[runtime]'" in done.stdout + done.stderr


def test_d11_d12_reports_for_services(tmp_path: Path) -> None:
    first = "import torch\nw = torch.ones(3, requires_grad=True)"
    notebook(tmp_path / "t.ipynb", first, "h = torch.sigmoid(w)\nh += 1\nh.sum().backward()")
    notebook(tmp_path / "u.ipynb", HAZARD)
    row, _ = json.loads(run("check", "--format=gitlab", cwd=tmp_path, status=1).stdout)
    assert "TIP103 cell 2, line 2: " in row["description"] and row["location"]["lines"]["begin"] == 1
    assert "(cell 2, line 1)" in row["description"]
    project(tmp_path, net=HAZARD)
    [run_] = validated(run("check", "--format=sarif", "net.py", cwd=tmp_path, status=1).stdout)["runs"]
    region = run_["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert (region["endLine"], region["endColumn"]) == (6, 9)
    rule = run_["tool"]["driver"]["rules"][run_["results"][0]["ruleIndex"]]
    assert rule["fullDescription"]["text"]


@pytest.mark.parametrize("command", ["check", "fix"])
def test_d13_d14_trouble_is_said_in_plain_words(tmp_path: Path, command: str) -> None:
    project(tmp_path, syntax="def (:\n")
    (tmp_path / "n.ipynb").write_text('{"cells": 3}')
    (tmp_path / "ops.json").write_text("[]")
    files = ("syntax.py", "missing.py", "n.ipynb")
    done = run(command, *files, cwd=tmp_path, status=2)
    done_ops = run(command, "--inplace-ops=ops.json", "syntax.py", cwd=tmp_path, status=2)
    said = done.stdout + done.stderr + done_ops.stderr
    assert "missing.py: No such file or directory" in said and "not a notebook of version 4" in said
    assert "ops.json: not a table of operators" in said
    assert not [word for word in said.split() if word.rstrip(":,()").endswith("Error")]


def test_d16_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    project(tmp_path, odd=f"# -*- coding: nosuch -*-\n{HAZARD}")
    assert "unknown encoding" in run("check", cwd=tmp_path, status=1).stdout


def test_d17_one_is_no_plural(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    assert "1 fix shown; " in run("fix", cwd=tmp_path, status=1).stderr
    wrote = run("check", "--baseline=k.json", "--write-baseline", cwd=tmp_path, status=0).stderr
    assert "1 finding" in wrote and "1 findings" not in wrote
    project(tmp_path, net=CLEAN)
    gone = run("check", "--baseline=k.json", cwd=tmp_path, status=0).stderr
    assert "1 entry no longer matches" in gone
    project(tmp_path, net=HAZARD)
    done = run("fix", "--fix", cwd=tmp_path, status=0)
    assert done.stderr.endswith("1 fix made; 0 findings left\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read everything")
def test_d16_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert "closed: Permission denied" in run("check", cwd=tmp_path, status=2).stderr


def test_d18_every_option_has_a_help_text() -> None:
    for command in ("check", "fix"):
        shown = run(command, "--help", cwd=ROOT, status=0).stdout
        for row in shown.split("\n"):
            option = row.strip().split(" ")[0]
            if row.startswith("  --"):
                rest = shown.partition(row)[2].split("\n")[1]
                assert "  " in row.strip() or rest.startswith(" " * 20), f"{command} {option}"
    alone = run(cwd=ROOT, status=2).stderr
    assert all(f"  {name} " in alone for name in COMMANDS)


@pytest.mark.parametrize("command", ["check", "fix"])
def test_an_error_is_not_hidden_below_all_options(command: str) -> None:
    said = run(command, "--jobs=0", cwd=ROOT, status=2).stderr.splitlines()
    assert said[0] == f"usage: flake8-inplace {command} [options] [PATH ...]"
    assert said[1:] == [f"flake8-inplace {command}: error: argument --jobs/-j: '0' is no positive number"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flake8_inplace", "check", "net.py"],
            cwd=project(tmp_path, net=HAZARD),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "flake8-inplace: standard output: cannot be written: no space left on the device\n"


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "standard input is none" in run("check", "--add-noqa", "-", cwd=tmp_path, status=2).stderr
    assert run("fix", "no.py", cwd=tmp_path, status=2).stderr.endswith("No such file or directory\nNo files\n")


def test_bytes_that_are_no_text_are_one_finding(tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_bytes(b"\x00\xff\xfe\x80" * 9)
    assert run("check", "-q", "bytes.py", cwd=tmp_path, status=1).stdout.count("TIP000") == 1


def test_a_selection_without_any_of_the_codes(tmp_path: Path) -> None:
    (tmp_path / ".flake8").write_text("[flake8]\nselect = E,F\n")
    project(tmp_path, net=HAZARD)
    said = "flake8-inplace: select: it names no code of TIP, so nothing is reported\n"
    assert run("check", cwd=tmp_path, status=0).stderr == said
    assert not run("check", "--extend-select=TIP", cwd=tmp_path, status=1).stderr
    assert not run("check", "--select=T", cwd=tmp_path, status=1).stderr


def test_d19_a_folder_that_is_made_is_named(tmp_path: Path) -> None:
    done = run("check", "--output-file=a/b/x.json", cwd=project(tmp_path, net=CLEAN), status=0)
    assert "made the folder a/b" in done.stderr


def test_d20_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8_inplace.commands.common import coloured

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert coloured("auto")
    monkeypatch.setenv("TERM", "dumb")
    assert not coloured("auto")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert coloured("auto") and not coloured("auto", "report.txt")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured("auto") and coloured("always")


def test_add_noqa(tmp_path: Path) -> None:
    folded = HAZARD.replace("    h += 1\n", "    h += \\\n        1\n")
    project(tmp_path, net=HAZARD, known=HAZARD.replace("+= 1", "+= 1  # noqa: E501"), folded=folded)
    done = run("check", "--add-noqa", cwd=tmp_path, status=0)
    assert "added noqa comments to 3 lines" in done.stderr
    assert "    h += 1  # noqa: TIP103\n" in (tmp_path / "net.py").read_text()
    assert "    h += 1  # noqa: E501, TIP103\n" in (tmp_path / "known.py").read_text()
    assert run("check", cwd=tmp_path, status=0).stdout == "All 3 files clean\n"
    assert commented("x = 1\r\n", ["TIP103"]) == "x = 1  # noqa: TIP103\r\n"


def test_diff(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD, other=HAZARD)
    diff = "--- a/net.py\n+++ b/net.py\n@@ -5,2 +5,2 @@\n     h = torch.sigmoid(w)\n-    h = h + 1\n+    h += 1\n"
    (tmp_path / "d.diff").write_text(diff)
    assert rows(run("check", "--diff", "d.diff", cwd=tmp_path, status=1)) == ["net.py:6:7 TIP103"]
    assert rows(run("check", "--diff", "-", cwd=tmp_path, stdin=diff, status=1)) == ["net.py:6:7 TIP103"]
    run("check", "--diff", "-", cwd=tmp_path, stdin=diff.replace("+5,2", "+1,2").replace("-5,2", "-1,2"), status=0)
    assert "not a unified diff" in run("check", "--diff", "net.py", cwd=tmp_path, status=2).stderr


def test_the_lines_of_a_diff() -> None:
    text = "+++ b/a.py\n@@ -1 +1,2 @@\n-x\n+y\n+++ z\n@@ -9,2 +10 @@\n \n-gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert parse(text) == {"a.py": {1, 2}}


# Pages


RULE_PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs" / "rules").glob("*.md"))}
FORMS = [
    (code, title, text)
    for code, page in RULE_PAGES.items()
    for title, text in re.findall(r"^### (.+)\n((?:.*\n)+?)(?=^##)", page, re.MULTILINE)
]


@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated")
@pytest.mark.parametrize(("code", "title", "text"), FORMS, ids=[f"{code} {title}" for code, title, _ in FORMS])
def test_each_form_of_a_hazard(code: str, title: str, text: str) -> None:
    """The page lists it; of its two programs the first is reported, and torch computes something else."""
    assert f"- {title[0].lower()}{title[1:]}\n" in RULE_PAGES[code]
    bad, good = fenced(text, "python")
    assert {found.code for found in analyze(bad).findings} == {code}
    assert analyze(good).findings == ()
    results = []
    for program in (bad, good):
        names: dict[str, torch.Tensor] = {}
        exec(program, names)
        results.append(names["result"])
    assert not torch.equal(*results)


def test_pages_with_forms() -> None:
    """Every listed form has its programs."""
    for code in {code for code, _, _ in FORMS}:
        listed = re.findall(r"^- .+$", RULE_PAGES[code].partition("\n### ")[0], re.MULTILINE)
        assert len(listed) == sum(code == other for other, _, _ in FORMS) >= 4


@pytest.mark.parametrize("code", RULE_PAGES)
def test_what_a_rule_does_is_said_in_short_sentences(code: str) -> None:
    text = RULE_PAGES[code].partition("## What it does\n")[2].partition("\n## ")[0]
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    parts = [" ".join(part.split()) for part in re.split(r"\n\n|\n- ", prose)]
    assert [said for part in parts for said in re.split(r"(?<=[.:]) (?=[A-Z`])", part) if len(said) > 160] == []


SAFE = ROOT / "docs" / "safe.md"


@pytest.mark.parametrize("program", fenced(SAFE.read_text(), "python"))
def test_what_is_safe_and_what_is_not(program: str) -> None:
    """Every claim is an assertion of its program; the linter reports where a comment says so, and nowhere else."""
    exec(program, {})
    wanted = {number: row.split("# ")[1][:6] for number, row in enumerate(program.split("\n"), 1) if "# TIP" in row}
    assert {found.line: found.code for found in analyze(program).findings} == wanted


def test_the_first_screen_of_the_readme() -> None:
    readme, path = (ROOT / "README.md").read_text(), ROOT / "docs" / "evidence" / "block.py"
    assert fenced(readme, "python")[0] == path.read_text()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=120)
    assert fenced(readme, "text")[0].strip() in done.stderr
    shown = [line.rstrip() for line in run("fix", path.name, cwd=path.parent, status=1).stdout.splitlines()]
    assert [line.rstrip() for line in fenced(readme, "diff")[0].splitlines()] == shown[:9]


def test_issue_forms_are_valid() -> None:
    yaml = pytest.importorskip("yaml")
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) == 3
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert form["name"] and form["description"]
        assert {field["type"] for field in form["body"]} <= {"textarea", "input"}


# Configuration


def test_configuration_in_pyproject(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    (tmp_path / "pyproject.toml").write_text('[tool.flake8-inplace]\nextend-ignore = ["TIP103"]\n')
    run("check", cwd=tmp_path, status=0)
    inner = tmp_path / "inner"
    inner.mkdir()
    run("check", "..", cwd=inner, status=0)
    (tmp_path / "pyproject.toml").write_text('[tool.flake8-inplace]\nformat = "json"\njobs = 1\nselect = "TIP"\n')
    assert json.loads(run("check", cwd=tmp_path, status=1).stdout)["findings"]
    assert rows(run("check", "--format=text", cwd=tmp_path, status=1)) == ["net.py:6:7 TIP103"]
    run("fix", cwd=tmp_path, status=1)


def test_trouble_with_pyproject(tmp_path: Path) -> None:
    project(tmp_path, net=CLEAN)
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.flake8-inplace]\nnonsense = 1\n")
    assert "has no option 'nonsense'" in run("check", cwd=tmp_path, status=2).stderr
    path.write_text("[tool.flake8-inplace\n")
    assert "not valid TOML" in run("check", cwd=tmp_path, status=2).stderr
    path.write_text('[tool.flake8]\nselect = "TIP"\n')
    assert "flake8 does not read [tool.flake8]" in run("check", cwd=tmp_path, status=0).stderr


def test_a_configuration_that_cannot_be_parsed(tmp_path: Path) -> None:
    project(tmp_path, net=CLEAN)
    path = tmp_path / ".flake8"
    path.write_text("[flake8\nselect = TIP\n")
    for command in ("check", "fix"):
        lines = run(command, cwd=tmp_path, status=0).stderr.splitlines()
        assert [line for line in lines if ".flake8" in line] == [
            f"flake8-inplace: {path}: cannot be parsed; flake8 ignores it"
        ]
    path.write_text("[flake8]\nselect = TIP\nselect = E\n")
    error = run("check", cwd=tmp_path, status=2).stderr
    assert "select" in error and "Error" not in error


def test_plain_flake8_says_what_it_does_not_read(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    (tmp_path / "pyproject.toml").write_text('[tool.flake8-inplace]\nextend-ignore = ["TIP103"]\n')
    command = [sys.executable, "-m", "flake8", "--select=TIP", "net.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert "TIP103" in done.stdout
    assert done.stderr.count("flake8 does not read [tool.flake8-inplace]") == 1
