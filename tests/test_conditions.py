"""What a finding needs besides a backward: each program raises where its conditions hold, and only there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from flake8_inplace.analysis import analyze
from flake8_inplace.formats import as_json, github, gitlab, sarif
from flake8_inplace.report import entries, text

HEAD = "import torch\nfrom torch import nn\n\n\n"
CERTAIN = "def f(w: nn.Parameter):\n    y = w.exp()\n    y.mul_(2)\n    return y\n"
ARGUMENT = "def f(x: torch.Tensor):\n    y = (x * 2).exp()\n    y.mul_(2)\n    return y\n"
ARM = "def f(w: nn.Parameter, flag=False):\n    y = w.exp()\n    if flag:\n        y.mul_(2)\n    return y\n"
ELSE = "def f(w: nn.Parameter, flag):\n    y = w.exp()\n    if flag:\n        return y\n    return y.mul_(2)\n"
DEFAULT = ARM.replace("False", "True")
COMPARED = ARM.replace("=False", "=0.0").replace("if flag", "if flag > 0")
ARMS = "def f(w: nn.Parameter, flag):\n    y = w.exp() if flag else w.sigmoid()\n    y.mul_(2)\n    return y\n"
ARMS_OF_AN_ARGUMENT = ARMS.replace("w: nn.Parameter", "w: torch.Tensor")
CHECKED = (
    "def f(w: nn.Parameter, flag):\n    if flag is None:\n        raise ValueError\n    y = w.exp()\n"
    "    y.mul_(2)\n    return y\n"
)
STALE = "def f(w: nn.Parameter, flag):\n    a = b = w * 2\n    if flag:\n        a += 1\n    return a * b\n"
LONG = ARM.replace("if flag", "if flag is not None and flag != 'a long one'")
OFF = "def f(w: nn.Parameter, p=0.0):\n    return nn.functional.dropout(w.exp(), p, inplace=True)\n"
ON = OFF.replace("0.0", "0.1")
OFF_BY_KEYWORD = OFF.replace("p=", "*, p=")
OFF_UNLESS_TESTED = (
    "def f(w: nn.Parameter, p=0.0):\n    y = w.exp()\n    if p > 0:\n"
    "        y = nn.functional.dropout(y, p, inplace=True)\n    return y\n"
)
MODULE = (
    "class A(nn.Module):\n    def __init__(self, drop=0.0):\n        super().__init__()\n"
    "        self.w = nn.Parameter(torch.ones(3))\n        self.drop = nn.Dropout(drop, inplace=True)\n\n"
    "    def forward(self):\n        return self.drop(self.w.exp())\n"
)
CHOSEN = (
    "class A(nn.Module):\n    def __init__(self, mode: str):\n        super().__init__()\n"
    "        self.w = nn.Parameter(torch.ones(3))\n        if mode == 'fast':\n            self.forward = self.fast\n"
    "        else:\n            self.forward = self.slow\n\n"
    "    def fast(self):\n        y = self.w.exp()\n        y.mul_(2)\n        return y\n\n"
    "    def slow(self):\n        return self.w.exp() * 2\n"
)
CONVERTED = (
    "def f(w: nn.Parameter, d: torch.dtype):\n    y = w * 2\n    z = y.to(d).square()\n    y.mul_(2)\n    return z\n"
)

CONDITIONS = {
    CERTAIN: (),
    ARGUMENT: ("if the argument `x` requires grad",),
    ARGUMENT.replace("x: torch.Tensor", "x"): ("if the argument `x` requires grad",),
    ARM: ("where `flag`",),
    ELSE: ("unless `flag`",),
    DEFAULT: (),
    COMPARED: ("where `flag > 0`",),
    ARMS: (),
    ARMS_OF_AN_ARGUMENT: ("if the argument `w` requires grad",),
    CHECKED: (),
    STALE: ("where `flag`",),
    LONG: ("in one arm of the `if` on line 7",),
    OFF: ("where `p`",),
    ON: (),
    OFF_BY_KEYWORD: ("where `p`",),
    OFF_UNLESS_TESTED: ("where `p > 0`",),
    MODULE: ("where `drop`",),
    MODULE.replace("0.0", "0.5"): (),
    CONVERTED: ("if `y.to(d)` makes no copy",),
    CONVERTED.replace("y.to(d)", "y.to(torch.float32)"): (),
    CONVERTED.replace("y.to(d)", "y.float()"): (),
    CHOSEN: ("where `mode == 'fast'`",),
    CHOSEN.replace("if mode == 'fast'", "if True"): (),
}


def conditions(program: str) -> list[tuple[str, ...]]:
    return [finding.conditions for finding in analyze(HEAD + program).findings]


@pytest.mark.parametrize("program", CONDITIONS)
def test_conditions(program: str) -> None:
    assert conditions(program) == [CONDITIONS[program]]


def raises(program: str, *given: object, grad: bool = True) -> bool:
    names: dict[str, object] = {}
    exec(HEAD + program, names)
    try:
        result = names["f"](nn.Parameter(torch.ones(3)) if grad else torch.ones(3), *given)
        if result.requires_grad:
            result.sum().backward()
    except RuntimeError as error:
        assert "inplace operation" in str(error)
        return True
    return False


@pytest.mark.parametrize(
    ("program", "holds", "fails"),
    [
        (ARM, (True,), ()),
        (ELSE, (False,), (True,)),
        (DEFAULT, (), (False,)),
        (COMPARED, (0.5,), ()),
        (LONG, ("x",), ("a long one",)),
        (CONVERTED, (torch.float32,), (torch.float64,)),
        (OFF, (0.5,), ()),
        (OFF_UNLESS_TESTED, (0.5,), ()),
    ],
)
def test_a_condition_is_what_it_takes(program: str, holds: tuple[object, ...], fails: tuple[object, ...]) -> None:
    assert raises(program, *holds)
    assert not raises(program, *fails)


def test_what_no_option_changes_is_certain() -> None:
    assert raises(CERTAIN)
    assert all(raises(program, flag) for program in (ARMS, CHECKED) for flag in (True, False))


def test_an_argument_has_to_require_grad() -> None:
    assert raises(ARGUMENT)
    assert not raises(ARGUMENT, grad=False)


def test_cuda() -> None:
    program = (
        "def f(w: nn.Parameter, x: nn.Parameter):\n    g = w * 1\n"
        "    y = torch.nn.functional.rms_norm(x * 1, (4,), g)\n    g.mul_(2)\n    return y\n"
    )
    assert all("on CUDA" not in each for each in conditions(program))  # both save it where `x` requires grad
    [found] = conditions(program.replace("x: nn.Parameter", "x").replace("x * 1", "x.detach()"))
    assert found == ("on CUDA",)


def test_contiguous_makes_no_copy() -> None:
    program = "def f(x: torch.Tensor):\n    old = x\n    h = x.contiguous()\n    h -= h.mean()\n    return old + h\n"
    [found] = conditions(program)
    assert found == ("if `x.contiguous()` makes no copy",)


NARROWED = (
    "def f(w: nn.Parameter, one=True, two=True, three=False):\n    u, v, h = w * 3, w * 4, w * 2\n"
    "    a = w.exp() if one else w.tan()\n    b = u if two else v\n    c = h if three else u\n"
    "    y = torch.addcmul(a, b, c)\n    h += 1\n    return y\n"
)


def test_options_that_are_dropped_leave_a_condition() -> None:
    """Of the operands of one call, not all combinations are followed; what is followed is no more certain for that."""
    assert not raises(NARROWED)
    assert raises(NARROWED, True, True, True)
    assert conditions(NARROWED) == [("where `three`",)]


def test_outputs() -> None:
    source = HEAD + ARM
    found = entries("net.py", source, analyze(source).findings)
    sure = entries("net.py", HEAD + CERTAIN, analyze(HEAD + CERTAIN).findings)
    rows = [json.loads(as_json(each))["findings"][0] for each in (found, sure)]
    assert [(row["level"], row["conditions"]) for row in rows] == [("warning", ["where `flag`"]), ("error", [])]
    results = [json.loads(sarif(each))["runs"][0]["results"][0] for each in (found, sure)]
    assert [result["level"] for result in results] == ["warning", "error"]
    assert results[0]["properties"] == {"conditions": ["where `flag`"]}
    assert "only where `flag`" in results[0]["message"]["text"]
    assert github(found).startswith("::warning ")
    assert github(sure).startswith("::error ")
    assert [json.loads(gitlab(each))[0]["severity"] for each in (found, sure)] == ["minor", "major"]
    assert "\nnote: only where `flag`\n" in text(found)
    assert "note:" not in text(sure)


FOUR = (
    "def f(x: torch.Tensor, a, b, c):\n    y = (x * 2).exp()\n    if a:\n        if b:\n            if c:\n"
    "                y.mul_(2)\n    return y\n"
)


def test_many_conditions() -> None:
    """People read the first ones, tools all of them."""
    found = entries("net.py", HEAD + FOUR, analyze(HEAD + FOUR).findings)
    assert "\nnote: only if the argument `x` requires grad, where `a`, and 2 more\n" in text(found)
    [row] = json.loads(as_json(found))["findings"]
    assert row["conditions"] == ["if the argument `x` requires grad", "where `a`", "where `b`", "where `c`"]


@pytest.mark.parametrize("command", [["flake8"], ["flake8_inplace", "check", "-q"]])
def test_only_the_certain_ones(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "net.py").write_text(HEAD + CERTAIN + "\n\n" + ARM.replace("def f", "def g"))

    def lines(*options: str) -> list[str]:
        run = [sys.executable, "-m", *command, "--isolated", "--select=TIP", *options, "net.py"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
        return [row.split(":")[1] for row in done.stdout.splitlines()] + done.stderr.splitlines()

    assert lines() == ["7", "14"]
    assert lines("--inplace-report=certain") == ["7"]
    assert any("neither 'all' nor 'certain'" in row for row in lines("--inplace-report=most"))


def test_a_gradient_has_to_be_shared() -> None:
    program = (
        "class Half(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x / 2\n\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g.div_(2)\n"
    )
    assert conditions(program) == [("if another operator gets the same gradient",)]
    names: dict[str, Any] = {}
    exec(HEAD + program, names)
    for shares, good in ((False, True), (True, False)):
        x = torch.ones(3, requires_grad=True)
        y = torch.ones(3, requires_grad=True)
        h = y * 1
        result = names["Half"].apply(x) + h if shares else names["Half"].apply(x)
        result.backward(torch.ones(3))
        assert (y.grad is None or bool((y.grad == 1).all())) == good
