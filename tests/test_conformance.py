"""The facts and the rules on a device: what `runtime.conformance` finds, and what it must not overlook."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="conformance executes PyTorch")

from flake8_inplace.rules import RULES  # noqa: E402
from flake8_inplace.runtime import conformance, pages  # noqa: E402
from flake8_inplace.runtime.place import Traced  # noqa: E402
from flake8_inplace.torchfacts import notation, ops  # noqa: E402

VERIFICATION = Path(__file__).parent.parent / "docs" / "verification"
CPU = torch.device("cpu")


def page(code: str) -> pages.Page:
    return pages.read_page(conformance.PAGES / f"{code}.md")


# -- the committed result


def test_committed_result_covers_every_rule() -> None:
    result = json.loads((VERIFICATION / "cpu.json").read_text())
    assert sorted(result["rules"]) == sorted(RULES)
    assert [code for code, found in result["rules"].items() if not found["as_expected"]] == []
    assert result["operators"]["differences"] == []
    assert result["operators"]["held"] > 1000


def test_committed_result_says_where_it_comes_from() -> None:
    result = json.loads((VERIFICATION / "cpu.json").read_text())
    assert result["device"] == "cpu"
    assert result["torch"].partition("+")[0] == ops.torch_version() == result["facts"]["torch"]
    assert result["command"].startswith("python -m flake8_inplace.runtime.conformance")
    assert all(result[key] for key in ("device_name", "python", "platform"))


# -- the rules

WRONG = {
    "the bad program runs": ("TIP101", {"bad": "import torch"}),
    "the bad program raises something else": ("TIP101", {"bad": "raise RuntimeError('out of memory')"}),
    "the bad program raises, and nothing is quoted": ("TIP301", {"bad": "raise RuntimeError('out of memory')"}),
    "both gradients are the same": ("TIP301", {"bad": page("TIP301").good}),
    "there is no gradient": ("TIP301", {"bad": "x = 1"}),
    "the good program raises": ("TIP101", {"good": page("TIP101").bad}),
    "a ban's program raises": ("TIP901", {"bad": "raise RuntimeError('out of memory')"}),
}


@pytest.mark.parametrize(("code", "changes"), WRONG.values(), ids=WRONG)
def test_a_page_that_is_wrong_is_told(code: str, changes: dict[str, Any]) -> None:
    assert pages.try_rule(RULES[code], page(code), CPU).as_expected
    assert not pages.try_rule(RULES[code], replace(page(code), **changes), CPU).as_expected


def test_quotes_hold_for_the_tensor_types_of_cuda() -> None:
    assert pages.plain("operation:\n[torch.cuda.FloatTensor [3]]") == "operation: [torch.FloatTensor [3]]"


def test_numpy_does_not_apply_off_the_cpu() -> None:
    """`meta` stands for every device that numpy cannot read."""
    found = pages.try_rule(RULES["TIP302"], page("TIP302"), torch.device("meta"))
    assert found.as_expected
    assert found.bad.startswith("does not apply")


# -- the facts


@pytest.fixture
def operators() -> Any:
    pytest.importorskip("expecttest", reason="op_db lives in torch.testing._internal, which imports expecttest")
    if torch.__version__.partition("+")[0] != ops.torch_version():
        pytest.skip(f"the facts are those of torch {ops.torch_version()}")
    return conformance.try_operators


SOME = ("torch.sigmoid", "Tensor.mul_", "torch.nn.functional.dropout", "torch.nn.LSTM", "torch.nn.ReLU")


def test_facts_hold_on_the_cpu(operators: Any) -> None:
    found = operators(CPU, SOME)
    assert found.held >= len(SOME)
    assert found.differences == found.only_on_cpu == ()


@pytest.mark.parametrize("name", ["torch.nn.functional.dropout", "torch.nn.ReLU"])
def test_a_fact_that_is_wrong_is_told(name: str, operators: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these saves its result in place of what it saves."""
    table = json.loads(ops.TABLE.read_text())
    if name in table["modules"]:
        table["modules"][name]["op"] = wrong(table["modules"][name]["op"])
    else:
        for row in table["names"][name]:
            table["rows"][row] = wrong(table["rows"][row])
    monkeypatch.setattr(ops, "table", lambda: table)
    difference = operators(CPU, [name]).differences[0]
    assert difference.names == (name,)
    assert "result1" in next(fact for field, fact, _ in difference.fields() if field == "saves")


def wrong(row: str) -> str:
    op = notation.parse_op(row)
    return notation.format_op(replace(op, saves=(notation.Save("result1", (op.params[0].name,)),)))


def test_another_device_is_held_against_the_facts(operators: Any) -> None:
    """`meta` has no kernels: attention falls back to products there, and what asks for a value cannot run."""
    meta = torch.device("meta")
    found = operators(meta, ["torch.nn.functional.scaled_dot_product_attention", "torch.allclose", "torch.sigmoid"])
    assert {name for difference in found.differences for name in difference.names} == {
        "torch.nn.functional.scaled_dot_product_attention"
    }
    assert found.only_on_cpu == ("torch.allclose",)
    assert found.held >= 1


# -- a trace, which needs the build for a device, and no device

HAS_CUDA_BUILD = torch.version.cuda is not None
CHOSEN = "torch.nn.functional.scaled_dot_product_attention"


def test_a_trace_of_the_cpu_shows_what_the_cpu_does(operators: Any) -> None:
    found = operators(Traced(CPU), SOME[:3])
    assert found.held >= 3
    assert found.differences == found.only_on_cpu == ()


def test_a_trace_refuses_what_the_device_decides(operators: Any) -> None:
    """A build without a GPU would take products of matrices for attention, and say nothing."""
    found = operators(Traced(CPU), [CHOSEN, "torch.nn.GRU"])
    assert found.held == 0
    assert set(found.only_on_cpu) == {CHOSEN, "torch.nn.GRU"}
    assert "for the device to say" in found.reasons[CHOSEN]
    assert "its driver to say" in found.reasons["torch.nn.GRU"]


def test_on_a_device_its_own_saves_are_saves_like_others() -> None:
    op = notation.parse_op("f|x:T w:T|x<x x<w@cuda w<w@cuda||fresh")
    assert notation.format_op(conformance.as_on(op, ("", "cuda"))) == "f|x:T w:T|w<w x<x,w||fresh"
    assert notation.format_op(conformance.as_on(op, ("",))) == "f|x:T w:T|x<x||fresh"


@pytest.mark.parametrize(
    ("device", "said"),
    [
        pytest.param("cuda", "built without CUDA", marks=pytest.mark.skipif(HAS_CUDA_BUILD, reason="the CUDA build")),
        ("xpu", "only the choices of the CUDA build can be traced"),
        ("nowhere", "knows no device 'nowhere'"),
    ],
)
def test_what_a_trace_lacks_is_one_line(device: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["--verify", "--device", device, "--traced"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert said in shown.err


def test_a_trace_runs_no_rules() -> None:
    with pytest.raises(SystemExit, match="2"):
        conformance.main(["--traced", "--rules-only"])


TRACED = ("torch.nn.LSTMCell", "torch.nn.GRUCell", "torch.gru_cell", "torch.nn.RMSNorm", "torch.nn.GRU", CHOSEN)


@pytest.mark.skipif(not HAS_CUDA_BUILD, reason="this torch is built without CUDA")
def test_facts_hold_in_a_trace_of_the_cuda_build(operators: Any) -> None:
    found = operators(Traced(torch.device("cuda")), TRACED)
    assert found.held >= 4
    assert found.differences == ()
    assert {choice.name for choice in found.choices} == {"torch.nn.GRU", CHOSEN}
    assert [choice for choice in found.choices if choice.differs] == []


# -- the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "result.json"
    assert conformance.main(["--rules-only", "--json", str(written)]) == 0
    assert json.loads(written.read_text())["rules"].keys() == RULES.keys()
    shown = capsys.readouterr()
    assert all(code in shown.out for code in RULES)
    assert shown.err == ""  # no progress bar where nobody watches


def test_a_difference_is_the_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in conformance.PAGES.glob("*.md"):
        (tmp_path / path.name).write_text(path.read_text())
    assert conformance.main(["--rules-only", "--pages", str(tmp_path)]) == 0
    bad = (tmp_path / "TIP101.md").read_text().replace("weights.masked_fill_(mask, 0)", "pass")
    (tmp_path / "TIP101.md").write_text(bad)
    assert conformance.main(["--rules-only", "--pages", str(tmp_path)]) == 1
    assert "TIP101  runs, though it should raise" in capsys.readouterr().out


def test_without_pages_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["--rules-only", "--pages", str(tmp_path / "none")]) == 0
    assert "the rules are not verified: no pages at" in capsys.readouterr().out


def test_no_such_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["--device", "cuda:99"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "cannot use the device 'cuda:99'" in shown.err


def test_what_the_operators_need_is_named() -> None:
    code = """
import sys
sys.modules["expecttest"] = None
from flake8_inplace.runtime.conformance import main
sys.exit(main(["--pages", "none"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert "the operators are not verified: what runs them needs expecttest\n" in done.stdout


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this torch sees no CUDA device")
def test_facts_hold_on_cuda(operators: Any) -> None:
    found = operators(torch.device("cuda"), ("torch.sigmoid", "Tensor.mul_", "torch.nn.ReLU"))
    assert found.differences == found.only_on_cpu == ()


@pytest.mark.parametrize(("device", "name"), [("CPU | measured", "cpu"), ("CUDA | traced", "cuda-traced")])
def test_the_page_has_the_figures_of_the_file(device: str, name: str) -> None:
    docs = Path(__file__).parents[1] / "docs"
    operators = json.loads((docs / "verification" / f"{name}.json").read_text())["operators"]
    kept = [len(operators[key]) for key in ("differences", "only_on_cpu", "no_call")]
    [row] = [line for line in (docs / "adding-an-op.md").read_text().splitlines() if line.startswith(f"| {device}")]
    assert row.endswith(f"| {' | '.join(map(str, [operators['held'], *kept]))} |")
