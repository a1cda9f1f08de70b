"""What an in-place form saves: the measuring itself, the committed figures, and the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="memory is measured on PyTorch")

from flake8_inplace.runtime import memory  # noqa: E402
from flake8_inplace.runtime.pages import fenced  # noqa: E402

DOCS = Path(__file__).parent.parent / "docs"
CPU = torch.device("cpu")
COMMITTED = json.loads((DOCS / "verification" / "memory-cpu.json").read_text())
KIB = 1024


def test_peak_and_kept() -> None:
    x = torch.zeros(KIB // 4)
    usage = memory.measure(lambda: ((x + 1) * 2) + 3, CPU)
    assert KIB * 2 <= usage.peak < KIB * 3  # an operand and its result; numbers take a few bytes
    assert usage.kept == KIB


def test_a_result_is_compared_with_none() -> None:
    x = torch.zeros(KIB // 4)
    compared = memory.compare_memory(lambda: x.relu(), lambda: x.relu_(), "cpu")
    assert (compared.first.peak, compared.second.peak, compared.saved) == (KIB, 0, KIB)


def test_other_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="not on meta"):
        memory.measure(lambda: None, "meta")


def test_reference() -> None:
    assert memory.reference(CPU, 16) == memory.Comparison(memory.Usage(KIB, KIB), memory.Usage(0, 0))


def test_both_classifiers_learn_the_same() -> None:
    plain, inplace = memory.train(False, CPU, steps=2), memory.train(True, CPU, steps=2)
    assert plain.loss == inplace.loss
    assert plain.step.peak >= inplace.step.peak > 0
    assert plain.forward.kept == inplace.forward.kept > 0


@pytest.mark.parametrize("name", memory.FORMS)
def test_both_forms_compute_the_same(name: str) -> None:
    function, inplace = memory.FORMS[name]
    x = torch.linspace(-2, 2, 9)
    results = []
    for form in (function, inplace):
        torch.manual_seed(0)
        results.append(form(x.clone()))
    assert torch.equal(*results)


@pytest.mark.parametrize("name", memory.FORMS)
def test_backward_after_an_addition_runs(name: str) -> None:
    x = torch.ones(3, requires_grad=True)
    memory.FORMS[name][1](x + 1).sum().backward()
    assert x.grad is not None


def test_an_operation_in_three_situations() -> None:
    """In tensors, so that the few bytes of a number do not count."""
    relu = memory.measure_op(*memory.FORMS["relu"], CPU)
    peaks = [
        (round(compared.first.peak / memory.TENSOR, 3), round(compared.second.peak / memory.TENSOR, 3))
        for compared in (relu.temporary, relu.trained, relu.autograd_keeps)
    ]
    assert peaks == [(2, 1), (2, 1), (2, 1)]
    assert relu.trained.first.kept == relu.trained.second.kept == memory.TENSOR
    assert relu.autograd_keeps.first.kept == 2 * memory.TENSOR
    assert relu.raises


def test_committed_figures_are_those_of_the_page() -> None:
    page = (DOCS / "memory.md").read_text()
    assert memory.render(COMMITTED) in page
    assert COMMITTED["about"]["command"] in page
    assert all(COMMITTED["about"][key] for key in ("device", "torch", "python", "platform"))
    assert COMMITTED["operations"].keys() == memory.FORMS.keys()
    assert COMMITTED["reference"] == {
        "first": {"peak": 400_000_000, "kept": 400_000_000},
        "second": {"peak": 0, "kept": 0},
    }


def test_example_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    [source] = fenced((DOCS / "memory.md").read_text(), "python")
    exec(source, {})
    assert capsys.readouterr().out == source.partition("# bytes: ")[2]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "FORMS", {"relu": memory.FORMS["relu"]})
    written = tmp_path / "memory.json"
    assert memory.main(["--side", "16", "--json", str(written)]) == 0
    result = json.loads(written.read_text())
    assert list(result["operations"]) == ["relu"]
    assert memory.render(result) in capsys.readouterr().out


@pytest.mark.parametrize("device", ["meta", "cuda:99", "nowhere"])
def test_no_such_device(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.main(["--device", device]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"cannot use the device {device!r}" in shown.err


def test_a_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert memory.main(["--plot", "plot.svg"]) == 2
    assert capsys.readouterr().err.startswith("--plot needs matplotlib")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_plot(ending: str, start: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="only the plot needs it")
    memory.plot(COMMITTED, tmp_path / f"plot.{ending}")
    assert (tmp_path / f"plot.{ending}").read_bytes().startswith(start)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this torch sees no CUDA device")
def test_on_cuda() -> None:
    compared = memory.reference(torch.device("cuda"), 1024)
    assert (compared.first.peak, compared.second.peak) == (4 * 1024**2, 0)
