"""The sanitizer changes nothing and claims nothing that it does not know: PyTorch's own behaviour stands beside it."""

import importlib.util
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from flake8_inplace.runtime import InplaceHazardWarning, inplace_sanitizer
from flake8_inplace.runtime.tensors import EXACT, SAMPLES, fingerprint_of
from flake8_inplace.runtime.verify import main

NUMBERS = [0, 1, 5, EXACT, EXACT + 1, 4096, 4097]
TYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.bool,
    torch.int8,
    torch.int64,
    torch.complex64,
    torch.complex128,
]


def ended(program: Callable[[], Any], **options: Any) -> str:
    """What a program ends with: its error, or its result."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with inplace_sanitizer(**options) if options else nullcontext():
                return repr(program())
        except RuntimeError as error:
            return f"{type(error).__name__}: {error}"


# Fingerprints


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_each_element_is_in_the_fingerprint(number: int, dtype: torch.dtype) -> None:
    tensor = torch.ones(number).to(dtype)
    before = fingerprint_of(tensor)
    assert before is not None
    assert before.fits(tensor)
    for at in {0, number // 2, number - 1} if number else ():
        tensor[at] = 0
        assert not before.fits(tensor)
        tensor[at] = 1
        assert before.fits(tensor)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.t(),
    "with gaps": lambda x: x[:, ::2],
    "expanded": lambda x: x[:, :1].expand(40, 60),
    "at an odd offset": lambda x: x.view(-1)[1:],
    "conjugate": lambda x: torch.complex(x, x).conj(),
    "negative": lambda x: torch.complex(x, x).conj().imag,
    "NaN": lambda x: x.log(),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_have_fingerprints(view: Callable[[torch.Tensor], torch.Tensor]) -> None:
    torch.manual_seed(0)
    tensor = view(torch.randn(40, 60))
    before = fingerprint_of(tensor)
    assert before is not None
    assert before.fits(tensor)
    if tensor.stride()[-1] != 0:
        tensor[3] += 1 if tensor.isfinite().all() else torch.ones(60)
    else:
        tensor[3, 0] += 1
    assert not before.fits(tensor) or tensor.isnan().any()


@pytest.mark.filterwarnings("ignore")
def test_what_has_no_plain_bytes_has_no_fingerprint() -> None:
    unreadable = [
        torch.ones(300, device="meta"),
        torch.eye(30).to_sparse(),
        torch.eye(30).to_sparse_csr(),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        torch.quantize_per_tensor(torch.ones(300), 0.1, 0, torch.quint8),
        torch.ones(30, 40).to_mkldnn(),
    ]
    assert [fingerprint_of(tensor) for tensor in unreadable] == [None] * len(unreadable)


def test_an_order_is_in_the_fingerprint() -> None:
    tensor = torch.arange(4096.0)
    before = fingerprint_of(tensor)
    assert before is not None
    tensor.copy_(tensor.flip(0))
    assert not before.fits(tensor)


def test_a_fingerprint_is_small() -> None:
    found = fingerprint_of(torch.ones(1 << 20))
    assert found is not None
    assert found.words.numel() == SAMPLES
    assert found.words.untyped_storage().nbytes() == 8 * SAMPLES


SHAPES: dict[str, Callable[[], Any]] = {
    "batch norm of evaluation": lambda: (
        nn.BatchNorm1d(3).eval()(torch.randn(2, 3, requires_grad=True)).sum().backward()
    ),
    "cond": lambda: (
        torch.cond(torch.ones(()) > 0, torch.sin, torch.cos, (torch.ones(3, requires_grad=True),)).sum().backward()
    ),
    "embedding bag": lambda: nn.EmbeddingBag(4, 3)(torch.tensor([[0, 1]])).sum().backward(),
    "pdist": lambda: torch.pdist(torch.randn(3, 2, requires_grad=True)).sum().backward(),
    "a number": lambda: torch.tensor(2.0, requires_grad=True).exp().backward(),
    "sparse": lambda: torch.sparse.mm(torch.eye(3).to_sparse(), torch.ones(3, 3, requires_grad=True)).sum().backward(),
    "complex": lambda: torch.ones(3, dtype=torch.complex64, requires_grad=True).exp().abs().sum().backward(),
    "a mask": lambda: torch.where(torch.ones(3) > 0, torch.ones(3, requires_grad=True), 0).sum().backward(),
}


@pytest.mark.parametrize("program", SHAPES.values(), ids=SHAPES)
def test_whatever_is_saved_goes_through(program: Callable[[], Any]) -> None:
    assert ended(program, fingerprint=True) == ended(program) == "None"


# PyTorch's own


def detached_in_place() -> None:
    a = torch.rand(3, requires_grad=True) * 2
    y = torch.sin(a)
    a.detach_()  # noqa: TIP108  # this is what is tested
    y.sum().backward()


def detached_result() -> None:
    x = torch.rand(3, requires_grad=True)
    y = torch.exp(x * 1)
    z = y * 2
    y.detach_()
    z.sum().backward()


def twice() -> None:
    y = torch.rand(3, requires_grad=True).exp().sum()
    y.backward()
    y.backward()


def lengths_reused() -> Any:
    x = torch.rand(12, 2, 5, requires_grad=True)
    lengths = torch.tensor([3, 3])
    loss = F.ctc_loss(x, torch.tensor([[1, 2, 3], [2, 3, 4]]), torch.tensor([12, 12]), lengths)
    lengths.fill_(1)
    loss.backward()
    return x.grad.tolist()


def product() -> Any:
    x = torch.rand(4, 5, requires_grad=True)
    torch.prod(x * x.detach(), 1).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("options", [{"mode": "raise"}, {"mode": "raise", "fingerprint": True}], ids=str)
@pytest.mark.parametrize("program", [detached_in_place, detached_result, twice, lengths_reused, product])
def test_ends_as_without_the_sanitizer(program: Callable[[], Any], options: dict[str, Any]) -> None:
    assert ended(program, **options) == ended(program)


def test_custom_backward_is_watched() -> None:
    """PyTorch's own formulas write to nothing that is saved; a backward in Python may."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            ctx.saved_tensors[0].mul_(3)  # noqa: TIP403
            return grad * 2

    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised, inplace_sanitizer():
        h = torch.rand(3, requires_grad=True) * 1
        z = h.sin()
        Scale.apply(h.detach().requires_grad_()).sum().backward()
        z.sum().backward()
    assert "ctx.saved_tensors[0].mul_(3)" in str(raised.value)


def test_hook_of_a_tensor_is_watched() -> None:
    with pytest.raises(RuntimeError) as raised, inplace_sanitizer():
        x = torch.rand(3, requires_grad=True)
        y = x.exp()
        z = y * 2
        z.register_hook(lambda grad: grad + 0 * y.detach().add_(1))  # noqa: TIP107
        z.sum().backward()
    assert "y.detach().add_(1)" in str(raised.value)


@pytest.mark.filterwarnings("ignore")
def test_lines_of_a_function_that_dynamo_cut_are_not_claimed() -> None:
    def cut(x: torch.Tensor) -> torch.Tensor:
        y = torch.sigmoid(x)
        torch._dynamo.graph_break()
        y.add_(1)  # noqa: TIP101
        return y * 2

    with inplace_sanitizer("record") as report, pytest.raises(RuntimeError, match="inplace operation"):
        torch.compile(cut, backend="aot_eager")(torch.ones(3, requires_grad=True)).sum().backward()
    [hazard] = report.reached
    frames = [hazard.saved_at[0], *(write.stack[0] for write in hazard.writes)]
    assert [(frame.function, frame.line) for frame in frames] == [("cut", 0), ("cut", 0)]
    assert "in cut, compiled: the line is not known" in str(hazard)


def test_transforms_are_said_to_be_out_of_sight() -> None:
    with pytest.warns(InplaceHazardWarning, match="nothing was watched there"), inplace_sanitizer() as report:
        torch.func.grad(lambda v: v.sin().sum())(torch.ones(3))
    assert len(report.notes) == 1


# Verify


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_an_error_is_shown_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("import torch\n\ndef load(d):\n    return d['weights']\n\nload({})\n")
    assert main(["train.py"]) == 1
    out = capsys.readouterr().out
    assert "the program ended with KeyError: 'weights'" in out
    assert f'File "{project}/train.py", line 4, in load' in out
    assert "runpy" not in out


@pytest.mark.parametrize(("exit_", "status"), [("3", 3), ("0", 0), ("", 0), ("'no data'", 1), ("2", 2)])
def test_an_exit_is_no_error(project: Path, exit_: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text(f"import sys\nimport torch\nsys.exit({exit_})\n")
    assert main(["train.py"]) == status
    out = capsys.readouterr().out
    assert "ran wrong" not in out
    assert ("the program exited with status" in out) == bool(status)


def test_json_that_cannot_be_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("import torch\n")
    with pytest.raises(SystemExit, match="2"):
        main(["--json", "nowhere/out.json", "train.py"])
    assert capsys.readouterr().err.splitlines()[-1].endswith("no such folder: nowhere")
    (project / "folder").mkdir()
    assert main(["--json", "folder", "train.py"]) == 2
    assert "verify: cannot write folder: Is a directory" in capsys.readouterr().err


def test_only_the_project_is_linted(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "helper.py").write_text("import torch\n")
    (project / "train.py").write_text("import json\nimport helper\njson.dumps({})\n")
    monkeypatch.chdir("/")
    assert main([str(project / "train.py")]) == 0
    assert "0 findings in 2 files" in capsys.readouterr().out


# Whole programs in their contexts: tests/data/watched.txt

WATCHED = {
    part.partition("\n")[0]: part.partition("\n")[2]
    for part in re.split("^### ", Path(__file__).with_name("data").joinpath("watched.txt").read_text(), flags=re.M)[1:]
}
"""Lines that end in ``# SAVED`` and ``# WRITE`` are the only ones that the report may name."""
OPTIONS: list[dict[str, Any]] = [
    {"mode": "raise"},
    {"mode": "warn", "fingerprint": True},
    {"mode": "record", "stale_reads": True},
    {"mode": "raise", "fingerprint": True, "stale_reads": True},
]


def result(program: Callable[[], list[torch.Tensor]]) -> tuple[str, list[torch.Tensor]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "", program()
        except Exception as error:
            return str(error).partition(": [")[0].partition("\n")[0], []


@pytest.mark.parametrize("name", WATCHED)
def test_a_watched_program_does_what_it_does_alone(name: str, tmp_path: Path) -> None:
    text, path = WATCHED[name], tmp_path / "watched_program.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("watched_program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "watched_program", module)
        spec.loader.exec_module(module)
        alone = result(module.run)
        marks = {
            mark: {number for number, line in enumerate(text.splitlines(), 1) if line.endswith(mark)}
            for mark in ("# SAVED", "# WRITE", "# COMPILED")
        }
        for options in OPTIONS:
            with inplace_sanitizer(**options) as report:
                error, values = result(module.run)
            assert error == alone[0]
            assert len(values) == len(alone[1])
            assert all(
                one is other is None or torch.equal(one, other) for one, other in zip(values, alone[1], strict=True)
            )
            if marks["# COMPILED"]:
                continue
            assert bool(report.hazards) == bool(marks["# SAVED"])
            for hazard in report.hazards:
                assert hazard.saved_at[0].line in marks["# SAVED"]
                assert {write.stack[0].line for write in hazard.writes} <= marks["# WRITE"]
                assert hazard.writes
