"""The sanitizer, executed: it names both lines of each hazard, raises where PyTorch raises, and says nothing else."""

import _thread
import ast
import copy
import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from test_cases import CASES, MARK, Span, load, statement_at, statement_spans
from torch import nn
from torch.testing._internal.common_methods_invocations import (
    OpInfo,
    foreach_binary_op_db,
    foreach_other_op_db,
    foreach_pointwise_op_db,
    foreach_unary_op_db,
    op_db,
)
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.checkpoint import checkpoint

from flake8_inplace.runtime import (
    Hazard,
    InplaceHazardError,
    InplaceHazardWarning,
    Report,
    disable,
    enable,
    inplace_sanitizer,
)
from flake8_inplace.runtime.watch import current_watch

SILENT = [path for path in CASES if "HAZARD silent" in path.read_text()]
HERE = str(Path(__file__))
WORDING = "modified by an inplace operation"
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(4, 3, requires_grad=True)


def lines(hazards: list[Hazard]) -> list[tuple[str, str]]:
    """The source of the saving and of the overwriting lines."""
    return [(hazard.saved_at[0].source, write.stack[0].source) for hazard in hazards for write in hazard.writes]


# The cases: programs with marked lines


def watch(function: Callable[[], object], fingerprint: bool = False) -> tuple[Report, str]:
    torch.manual_seed(0)
    with inplace_sanitizer("record", fingerprint=fingerprint) as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function()
        except RuntimeError as error:
            return report, str(error)
    return report, ""


@each_case
def test_marked_lines_are_named_in_bad_programs(path: Path) -> None:
    case = load(path)
    report, error = watch(case.bad)
    assert case.RAISES == "silent" or case.RAISES in error
    assert {span for span, kind in marks(path) if kind in ("saved", "step")} <= named(path, report)


@pytest.mark.parametrize(
    "path", [path for path in CASES if "HAZARD silent" in path.read_text()], ids=lambda path: path.stem
)
def test_silent_writes_are_named_if_they_change_what_is_saved(path: Path) -> None:
    """With fingerprints. The others spoil values that autograd has no part in: there is nothing to compare."""
    report, _ = watch(load(path).bad, fingerprint=True)
    if saves_change(load(path).bad):
        assert {span for span, kind in marks(path) if kind == "silent"} <= named(path, report)
    else:
        assert report.hazards == []


def saves_change(function: Callable[[], object]) -> bool:
    """Whether a backward pass is given other values than those that were saved, as plain copies show."""
    changed = []

    def compare(pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        changed.append(not torch.equal(*pair))
        return pair[0]

    torch.manual_seed(0)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: (tensor.detach(), tensor.detach().clone()), compare):
        function()
    return any(changed)


@each_case
@pytest.mark.parametrize("fingerprint", [False, True], ids=["versions", "fingerprints"])
def test_good_programs_have_no_hazard(path: Path, fingerprint: bool) -> None:
    report, error = watch(load(path).good, fingerprint)
    assert error == ""
    assert report.hazards == []


def marks(path: Path) -> Iterator[tuple[Span, str]]:
    source = path.read_text()
    spans = list(statement_spans(ast.parse(source)))
    for number, line in enumerate(source.splitlines(), 1):
        if mark := MARK.search(line):
            yield statement_at(spans, number), mark[1]


def named(path: Path, report: Report) -> set[Span]:
    spans = list(statement_spans(ast.parse(path.read_text())))
    frames = [frame for hazard in report.hazards for write in hazard.writes for frame in write.stack]
    return {statement_at(spans, frame.line) for frame in frames if frame.file == str(path)}


# What a hazard says


def test_error_names_everything(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError, match=WORDING) as raised, inplace_sanitizer():
        y = torch.sigmoid(x)
        y += 1
        y.sum().backward()
    [hazard] = raised.value.hazards
    assert (hazard.shape, hazard.dtype, hazard.device) == ((4, 3), "torch.float32", "cpu")
    assert (hazard.saved_by, hazard.slot) == ("sigmoid", "its result")
    assert (hazard.version_saved, hazard.version_now) == (0, 1)
    assert hazard.producer == "output 0 of SigmoidBackward0"
    assert (hazard.reached, hazard.silent) == (True, False)
    assert lines([hazard]) == [("y = torch.sigmoid(x)", "y += 1")]
    assert [frame.function for frame in hazard.saved_at] == ["test_error_names_everything"]
    assert hazard.advice == "write `y = y + ...` instead of `+=`"


def test_slots_are_named(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        y = x * 1
        z = y * x
        y.zero_()
        z.sum().backward()
    [hazard] = raised.value.hazards
    assert (hazard.saved_by, hazard.slot, hazard.writes[0].op) == ("mul", "`self`", "zero_")


def test_results_are_named_without_a_backward(x: torch.Tensor) -> None:
    with inplace_sanitizer() as report:
        _, indices = nn.functional.max_pool1d(x, 2, return_indices=True)
        indices.add_(1)
        y = x * 1
        y[0].sigmoid_().zero_()
        x.sin()  # not what saved them
    names = [(hazard.saved_by, hazard.slot, hazard.writes[0].op) for hazard in report.hazards]
    assert names == [
        ("max_pool2d_with_indices", "its result", "add_"),
        ("sigmoid_", "its result", "zero_"),
    ]


def relu(x: torch.Tensor) -> None:
    nn.functional.relu(x, inplace=True)


def index(x: torch.Tensor) -> None:
    x[0] = 0


def out(x: torch.Tensor) -> None:
    torch.add(x.detach(), 1, out=x.detach())


def method(x: torch.Tensor) -> None:
    x.mul_(2)


def random(x: torch.Tensor) -> None:
    x.normal_()


@pytest.mark.parametrize(
    ("write", "advice"),
    [
        (relu, "drop `inplace=True` here"),
        (index, "write to a `clone()`, or build"),
        (out, "drop `out=`"),
        (method, "call `mul` and use its result"),
        (random, "use the out-of-place form of `normal_` here, or let it work on a `clone()`"),
    ],
)
def test_advice_follows_the_form(x: torch.Tensor, write: Callable[[torch.Tensor], None], advice: str) -> None:
    with inplace_sanitizer("record") as report:
        y = x.exp()
        write(y)
    [hazard] = report.hazards
    assert hazard.advice.startswith(advice)
    assert [frame.function for frame in hazard.writes[0].stack] == [
        write.__name__,
        "test_advice_follows_the_form",
    ]


def test_a_parameter_is_not_to_be_bound_anew() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2, 2))

        @torch.no_grad()
        def scale(self) -> None:
            self.w /= self.w.norm()

    net, x = Scaled(), torch.ones(2, 2, requires_grad=True)
    with inplace_sanitizer("record") as report:
        y = x @ net.w
        z = x @ net.w.t()
        net.scale()
    assert [hazard.leaf for hazard in report.hazards] == [True, True]
    assert {hazard.advice.partition(" that ")[0] for hazard in report.hazards} == {"update after every backward"}
    assert y.equal(z)


def test_error_lists_what_waits_behind_it(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        y = x.exp()
        z = y.sigmoid()
        y.add_(1)
        z.add_(1)
        z.sum().backward()
    assert lines(raised.value.hazards) == [("z = y.sigmoid()", "z.add_(1)"), ("y = x.exp()", "y.add_(1)")]


def test_hazards_without_a_backward_are_reported_only(x: torch.Tensor) -> None:
    with inplace_sanitizer() as report:
        y = x.exp()
        y.add_(1)
        del y
        z = x.sigmoid()
        z.add_(1)
    assert [(hazard.saved_by, hazard.reached) for hazard in report.hazards] == [("exp", False), ("sigmoid", False)]
    assert report.reached == []
    with pytest.raises(RuntimeError, match=WORDING):
        z.sum().backward()  # outside of the block, but the graph was made inside


def test_each_pair_of_lines_is_one_hazard(x: torch.Tensor) -> None:
    with inplace_sanitizer("record") as report:
        for _ in range(3):
            y = x.exp()
            y.add_(1)
            with pytest.raises(RuntimeError, match=WORDING):
                y.sum().backward()
    [hazard] = report.hazards
    assert (hazard.times, hazard.reached) == (3, True)
    assert "the same happened 3 times" in str(report)


def result(x: torch.Tensor) -> torch.Tensor:
    y = x.exp()
    y.add_(1)
    return y


def operand(x: torch.Tensor) -> torch.Tensor:
    y = x * 1
    z = y * x
    y.add_(1)
    return z


def part(x: torch.Tensor) -> torch.Tensor:
    y = (x * 1).exp_()
    y[0].zero_()
    return y


@pytest.mark.parametrize("function", [result, operand, part])
def test_the_first_sentence_is_that_of_pytorch(x: torch.Tensor, function: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(RuntimeError, match=WORDING) as plain:
        function(x).sum().backward()
    with pytest.raises(InplaceHazardError) as ours, inplace_sanitizer():
        function(x).sum().backward()
    sentence = ours.value.hazards[0].headline().replace("Backward0", "")  # Python has longer names for nodes
    assert sentence == str(plain.value).partition(" Hint:")[0].replace("Backward0", "")


def test_deep_graphs_come_apart(x: torch.Tensor) -> None:
    """PyTorch 2.13 takes nodes that Python has looked at apart recursively: the stack, small here, would overflow."""

    def build() -> None:
        y = x
        for _ in range(8000):
            y = y * x

    before = threading.stack_size(1 << 19)
    try:
        with inplace_sanitizer() as report:
            thread = threading.Thread(target=build)
            thread.start()
            thread.join()
    finally:
        threading.stack_size(before)
    assert report.hazards == []


# Modes


@pytest.mark.parametrize("mode", ["raise", "warn", "record"])
def test_backward_raises_where_pytorch_raises(x: torch.Tensor, mode: str) -> None:
    with warnings.catch_warnings(record=True) as seen, inplace_sanitizer(mode) as report:  # type: ignore[arg-type]
        warnings.simplefilter("always")
        y = x.exp()
        y.add_(1)
        with pytest.raises(InplaceHazardError, match=WORDING):
            y.sum().backward()
    assert x.grad is None
    assert len(report.reached) == 1
    assert [warning.category for warning in seen] == [InplaceHazardWarning] * (mode == "warn")


@pytest.mark.parametrize("mode", ["raise", "warn", "record"])
def test_what_pytorch_lets_pass_follows_the_mode(x: torch.Tensor, mode: Any) -> None:
    with warnings.catch_warnings(record=True) as seen, inplace_sanitizer(mode, fingerprint=True) as report:
        warnings.simplefilter("always")
        y = x.exp()
        y.data.add_(1)
        if mode == "raise":
            with pytest.raises(InplaceHazardError, match=WORDING):
                y.sum().backward()
        else:
            y.sum().backward()
    assert [hazard.silent for hazard in report.reached] == [True]
    assert lines(report.reached) == [("y = x.exp()", "y.data.add_(1)")]
    assert [warning.category for warning in seen] == [InplaceHazardWarning] * (mode == "warn")


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="raise, warn, record"), inplace_sanitizer("off"):  # type: ignore[arg-type]
        raise AssertionError("not reached")


def test_enable_and_disable(x: torch.Tensor) -> None:
    report = enable("record")
    try:
        with pytest.raises(RuntimeError, match="enabled already"):
            enable()
        x.exp().add_(1)
    finally:
        assert disable() is report
    assert len(report.hazards) == 1
    assert disable() is None
    x.exp().add_(1)
    assert len(report.hazards) == 1


def test_environment_variable_enables(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, flake8_inplace.runtime\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1)\n"
    )
    environment = os.environ | {"FLAKE8_INPLACE_SANITIZER": "record", "PYTHONPATH": str(Path(HERE).parent.parent)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert "script.py:4 in <module>" in done.stderr


def test_importing_does_not_import_torch() -> None:
    code = "import sys, flake8_inplace.runtime.pytest_plugin; print('torch' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != "FLAKE8_INPLACE_SANITIZER"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# The ways in which programs use autograd


def test_double_backward(x: torch.Tensor) -> None:
    with inplace_sanitizer() as report:
        [grad] = torch.autograd.grad(x.sigmoid().pow(2).sum(), x, create_graph=True)
        grad.pow(2).sum().backward()
    expected = torch.autograd.functional.vjp(
        lambda v: torch.autograd.grad(v.sigmoid().pow(2).sum(), v, create_graph=True)[0].pow(2).sum(), x.detach()
    )[1]
    assert report.hazards == []
    torch.testing.assert_close(x.grad, expected)
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        y = x.sigmoid()
        [grad] = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
        y.add_(1)
        grad.sum().backward()
    assert set(lines(raised.value.hazards)) >= {("y = x.sigmoid()", "y.add_(1)")}


def test_retain_graph(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer() as report:
        y = x.exp()
        y.sum().backward(retain_graph=True)
        y.sum().backward(retain_graph=True)
        assert report.unpacked == 2
        y.add_(1)
        y.sum().backward()
    assert lines(raised.value.hazards) == [("y = x.exp()", "y.add_(1)")]


def test_writes_after_the_backward_are_no_hazard(x: torch.Tensor) -> None:
    with inplace_sanitizer() as report:
        y = x.exp()
        y.sum().backward(retain_graph=True)
        y.add_(1)
    assert report.hazards == []


def overwriting(x: torch.Tensor) -> torch.Tensor:
    y = x.sigmoid()
    z = y * 2
    y.add_(1)
    return z.exp() + y


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(x: torch.Tensor, reentrant: bool) -> None:
    with inplace_sanitizer() as report:
        checkpoint(lambda v: v.sigmoid().exp(), x * 1, use_reentrant=reentrant).sum().backward()
    assert report.hazards == []
    with pytest.raises(RuntimeError, match=WORDING), inplace_sanitizer():
        y = x * 1
        z = checkpoint(lambda v: v.sigmoid().exp(), y, use_reentrant=reentrant)
        y.detach().add_(1)
        z.sum().backward()
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        checkpoint(overwriting, x * 1, use_reentrant=reentrant).sum().backward()
    [(saving, writing)] = lines(raised.value.hazards)
    assert (saving, writing) == ("y = x.sigmoid()", "y.add_(1)")
    assert raised.value.hazards[0].silent is not reentrant  # PyTorch does not look into the second kind


def test_autocast(x: torch.Tensor) -> None:
    linear = nn.Linear(3, 3)
    with inplace_sanitizer() as report, torch.autocast("cpu", torch.bfloat16):
        scaler = torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
        scaler.scale(linear(x).relu().sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert report.hazards == []
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        with torch.autocast("cpu", torch.bfloat16):
            y = linear(x).sigmoid()
            y.mul_(2)
        y.sum().backward()
    assert raised.value.hazards[0].dtype == "torch.bfloat16"


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x.detach() * 0, x)
        return x * x

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return 2 * grad * ctx.saved_tensors[1]


def test_custom_function(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        y = x * 1
        z = Square.apply(y)
        y.add_(1)
        z.sum().backward()
    [hazard] = raised.value.hazards
    assert (hazard.saved_by, hazard.slot) == ("Square", "`saved_tensors[1]`")
    assert lines([hazard]) == [("z = Square.apply(y)", "y.add_(1)")]


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    "hooks",
    [
        torch.autograd.graph.save_on_cpu,
        partial(torch.autograd.graph.saved_tensors_hooks, lambda t: t.detach(), lambda t: t),
        partial(torch.autograd.graph.saved_tensors_hooks, lambda t: (0, t.detach()), lambda pair: pair[1].clone()),
    ],
    ids=["save_on_cpu", "detach", "pair"],
)
def test_hooks_of_the_program_that_share_memory(x: torch.Tensor, hooks: Callable[..., object], inside: bool) -> None:
    """PyTorch does not look behind hooks: a wrong gradient without an error, which is an error here."""
    outer, inner = (inplace_sanitizer, hooks) if inside else (hooks, inplace_sanitizer)
    with pytest.raises(InplaceHazardError) as raised, outer(), inner():  # type: ignore[attr-defined]
        y = x.exp()
        y.add_(1)
        y.sum().backward()
    [hazard] = raised.value.hazards
    assert hazard.silent
    assert lines([hazard]) == [("y = x.exp()", "y.add_(1)")]


def test_hooks_of_the_program_that_copy(x: torch.Tensor) -> None:
    with (
        inplace_sanitizer() as report,
        torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t),
    ):
        y = x.exp()
        y.add_(1)
        y.sum().backward()
    assert report.hazards == []
    torch.testing.assert_close(x.grad, x.detach().exp())


OPTIMIZERS = [
    partial(torch.optim.SGD, foreach=False),
    partial(torch.optim.SGD, foreach=True),
    partial(torch.optim.Adam, foreach=True),
    partial(torch.optim.SGD, fused=True),
    partial(torch.optim.Adam, fused=True),
]


@pytest.mark.parametrize("make", OPTIMIZERS, ids=lambda make: f"{make.func.__name__}-{next(iter(make.keywords))}")
def test_optimizers(x: torch.Tensor, make: partial[torch.optim.Optimizer]) -> None:
    linear = nn.Linear(3, 3)
    optimizer = make(linear.parameters(), lr=0.1)
    with inplace_sanitizer(fingerprint=True) as report:
        for _ in range(3):
            optimizer.zero_grad()
            linear(x).pow(2).sum().backward()
            optimizer.step()
    assert report.hazards == []
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer(fingerprint=True):
        first, second = linear(linear(x)).sum(), linear(linear(x)).pow(2).sum()
        first.backward()
        optimizer.step()
        second.backward()
    hazard = raised.value.hazards[0]
    assert hazard.silent is ("fused" in make.keywords)
    assert {writing for _, writing in lines([hazard])} == {"optimizer.step()"}
    assert hazard.advice.startswith("update after every backward")


class Failing(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:
        raise ZeroDivisionError


def test_a_step_that_fails_leaves_the_sanitizer_at_work(x: torch.Tensor) -> None:
    with inplace_sanitizer("record") as report:
        with pytest.raises(ZeroDivisionError):
            Failing([x], lr=0.1).step()
        y = x.exp()
        y.add_(1)
    assert lines(report.hazards) == [("y = x.exp()", "y.add_(1)")]


def test_a_step_with_a_closure(x: torch.Tensor) -> None:
    optimizer = torch.optim.SGD([x], lr=0.1)

    def closure() -> float:
        y = x.exp()
        y.add_(1)
        y.sum().backward()
        return 0.0

    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        optimizer.step(closure)
    assert lines(raised.value.hazards) == [("y = x.exp()", "y.add_(1)")]


@pytest.mark.filterwarnings("ignore")  # Dynamo's own
def test_a_compiled_step(x: torch.Tensor) -> None:
    linear = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend="eager")
    with inplace_sanitizer("record") as report:
        linear(x).sum().backward()
        before = linear.weight.detach().clone()
        step()
        assert not torch.equal(linear.weight, before)
        x.exp().add_(1)
    assert len(report.hazards) == 1


def test_data_of_a_parameter_replaced(x: torch.Tensor) -> None:
    """Autograd looks at the parameter, not at the memory it had; a sanitizer that kept that would change the result."""

    def step(weight: torch.Tensor) -> None:
        y = x * weight
        weight.data = weight.data + 5
        y.sum().backward()

    step(torch.ones(3, requires_grad=True))
    plain, x.grad = x.grad, None
    with inplace_sanitizer("record") as report:
        step(torch.ones(3, requires_grad=True))
    assert (report.hazards, torch.equal(x.grad, plain)) == ([], True)
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer(fingerprint=True):
        step(torch.ones(3, requires_grad=True))
    assert (raised.value.hazards[0].silent, raised.value.hazards[0].slot) == (True, "`other`")


def test_numpy(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer(fingerprint=True):
        y = x.exp()
        y.detach().numpy()[:] += 1
        y.sum().backward()
    assert raised.value.hazards[0].silent


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.complex64, torch.int64, torch.bool])
def test_fingerprints_leave_the_contents_alone(x: torch.Tensor, dtype: torch.dtype) -> None:
    factor = torch.ones(4, 3).to(dtype)
    before = factor.clone()
    with inplace_sanitizer(fingerprint=True) as report:
        (x * factor).abs().sum().backward()
    assert report.hazards == []
    assert torch.equal(factor, before)


@pytest.mark.parametrize(
    "module",
    [
        nn.GRU(3, 4, 2, dropout=0.1),
        nn.LSTM(3, 4, bidirectional=True),
        nn.RNN(3, 4),
        nn.GRUCell(3, 4),
        nn.LSTMCell(3, 4),
        nn.BatchNorm1d(3),
        nn.SyncBatchNorm(3),
        nn.RReLU(inplace=True),
        nn.Dropout(inplace=True),
    ],
    ids=lambda module: type(module).__name__,
)
@pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=needs_cuda)])
def test_legal_internals(x: torch.Tensor, module: nn.Module, place: str) -> None:
    """On CUDA these are cuDNN's."""
    module = copy.deepcopy(module).to(place)
    with inplace_sanitizer(fingerprint=True) as report:
        total = torch.zeros((), device=place)
        for _ in range(2):
            result = module(x.to(place) * 1)
            total = total + (result[0] if isinstance(result, tuple) else result).sum()
        total.backward()
    assert report.hazards == []


def test_transforms_that_refuse_hooks(x: torch.Tensor) -> None:
    with pytest.warns(InplaceHazardWarning, match="nothing was watched there"), inplace_sanitizer() as report:
        first = torch.func.grad(lambda v: v.sin().sum())(x.detach())
        second = torch.func.vmap(torch.func.grad(lambda v: v.sin().sum()))(x.detach())
        y = x.exp()
        y.add_(1)
    torch.testing.assert_close(first, x.detach().cos())
    torch.testing.assert_close(second, x.detach().cos())
    assert len(report.hazards) == 1  # the hooks are back afterwards


def test_threads(x: torch.Tensor) -> None:
    def work() -> None:
        y = x.exp()
        y.add_(1)

    with inplace_sanitizer("record") as report:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert lines(report.hazards) == [("y = x.exp()", "y.add_(1)")]


def test_a_thread_may_outlive_the_block(x: torch.Tensor) -> None:
    started, go = threading.Event(), threading.Event()
    errors = []

    def work() -> None:
        started.set()
        go.wait()
        y = x.exp()
        y.add_(1)
        try:
            y.sum().backward()
        except RuntimeError as error:
            errors.append(str(error))

    with inplace_sanitizer() as report:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
    go.set()
    thread.join()
    assert len(errors) == 1
    assert WORDING in errors[0]
    assert len(report.reached) == 1


def test_saves_in_a_thread_that_cpp_began(x: torch.Tensor) -> None:
    """As those of a double backward on a GPU: no line of Python stands there. `map` is a frame of C."""
    with inplace_sanitizer() as report:
        y = x.detach().clone()
        kept: list[object] = []
        pack = map(current_watch().pack, [y])  # type: ignore[union-attr]
        _thread.start_new_thread(kept.extend, (pack,))
        deadline = time.monotonic() + 10
        while not kept and time.monotonic() < deadline:
            time.sleep(0.001)
        y.add_(1)
        kept.clear()
    assert [hazard.saved_at for hazard in report.hazards] == [()]


def test_a_write_in_another_thread_is_seen(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        y = x.exp()
        thread = threading.Thread(target=lambda: y.add_(1))
        thread.start()
        thread.join()
        y.sum().backward()
    assert [write.op for write in raised.value.hazards[0].writes] == ["add_"]


def test_generators(x: torch.Tensor) -> None:
    def losses() -> Iterator[torch.Tensor]:
        y = x.exp()
        yield y.sum()
        y.add_(1)
        yield y.sum()

    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        for loss in losses():
            loss.backward(retain_graph=True)
    assert lines(raised.value.hazards) == [("y = x.exp()", "y.add_(1)")]


def test_an_exception_in_the_middle_leaves_nothing_behind(x: torch.Tensor) -> None:
    enter, start = torch.autograd.graph.saved_tensors_hooks.__enter__, threading.Thread.start
    with pytest.raises(ZeroDivisionError), inplace_sanitizer():
        assert threading.Thread.start is not start
        x.exp().add_(1 / 0)
    assert torch.autograd.graph.saved_tensors_hooks.__enter__ is enter
    assert threading.Thread.start is start
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=WORDING) as raised:
        y.sum().backward()
    assert not isinstance(raised.value, InplaceHazardError)


def test_compiled_code_is_run_and_said_to_be_out_of_sight(x: torch.Tensor) -> None:
    compiled = torch.compile(lambda v: v.sigmoid().exp(), backend="aot_eager")
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer("record") as report:
        y = compiled(x)
        assert type(y.grad_fn).__name__ == "CompiledFunctionBackward"
        compiled(x)
        assert len(report.notes) == 1
        assert "torch.compile" in report.notes[0]
        z = y.exp()
        z.add_(1)
        z.sum().backward()
    assert lines(raised.value.hazards) == [("z = y.exp()", "z.add_(1)")]


def test_data_parallel(x: torch.Tensor) -> None:
    model = nn.DataParallel(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
    with inplace_sanitizer() as report:
        model(x).sum().backward()
    assert report.hazards == []


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="replicas in threads need two GPUs")
def test_data_parallel_on_two_gpus(x: torch.Tensor) -> None:
    model = nn.DataParallel(nn.Linear(3, 3).cuda())
    with pytest.raises(InplaceHazardError, match=WORDING), inplace_sanitizer():
        y = model(x.cuda()).exp()
        y.add_(1)
        y.sum().backward()


@pytest.mark.skipif(not (dist.is_available() and dist.is_gloo_available()), reason="torch without gloo")
def test_distributed_data_parallel(x: torch.Tensor, tmp_path: Path) -> None:
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
        with inplace_sanitizer() as report:
            model(x).sum().backward()
        assert report.hazards == []
        with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
            y = model(x).exp()
            y.add_(1)
            y.sum().backward()
    finally:
        dist.destroy_process_group()
    assert ("y = model(x).exp()", "y.add_(1)") in lines(raised.value.hazards)


@needs_cuda
def test_cuda_backward_threads(x: torch.Tensor) -> None:
    with pytest.raises(InplaceHazardError) as raised, inplace_sanitizer():
        y = x.cuda().exp()
        y.add_(1)
        y.sum().backward()
    assert lines(raised.value.hazards) == [("y = x.cuda().exp()", "y.add_(1)")]


# Memory


def test_memory_is_flat_and_freed(x: torch.Tensor) -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(inplace=True), nn.BatchNorm1d(8), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())

    def steps(number: int) -> int:
        for _ in range(number):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        gc.collect()
        return len(gc.get_objects())

    with inplace_sanitizer():
        steps(3)  # fills the caches of operators and files
    plain = steps(3)
    gc.disable()  # reference counts alone have to do it
    try:
        with inplace_sanitizer() as report:
            early = steps(20)
            late = steps(100)
    finally:
        gc.enable()
    assert abs(late - early) < 20
    assert report.hazards == []
    del report
    assert abs(steps(0) - plain) < 60


def test_nothing_is_kept_of_a_dead_graph(x: torch.Tensor) -> None:
    with inplace_sanitizer():
        y = x.exp()
        storage = y.untyped_storage()
        held = sys.getrefcount(storage)
        z = y.sigmoid().sum()
        y.add_(1)
        del z
        assert sys.getrefcount(storage) == held


# Versions rise as they do without the sanitizer, or its check would let pass what PyTorch's own does not


def versions(tensors: object) -> list[int]:
    return [leaf._version for leaf in tree_leaves(tensors) if isinstance(leaf, torch.Tensor)]


def copied(values: object) -> object:
    return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, values)


def counted(call: Callable[..., object], values: object) -> list[int] | str:
    """What a call does to the versions of its arguments."""
    try:
        call(values)
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__
    return versions(values)


def compare_versions(call: Callable[..., object], values: object) -> None:
    plain = counted(call, copied(values))
    with inplace_sanitizer():
        assert counted(call, copied(values)) == plain


INPLACE = [op for op in op_db if op.inplace_variant is not None and torch.float32 in op.dtypes]
#: The dispatcher does not show that linalg.matrix_rank writes to its `out`: integers, which autograd hardly saves.
OUT = [op for op in op_db if op.supports_out and op.name != "linalg.matrix_rank"]
FOREACH = [*foreach_unary_op_db, *foreach_binary_op_db, *foreach_pointwise_op_db, *foreach_other_op_db]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", INPLACE, ids=lambda op: op.formatted_name)
def test_versions_of_in_place_operators(op: OpInfo) -> None:
    sample = next(iter(op.sample_inputs("cpu", torch.float32)))
    compare_versions(lambda v: op.inplace_variant(v[0], *v[1], **v[2]), (sample.input, sample.args, sample.kwargs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OUT, ids=lambda op: op.formatted_name)
def test_versions_of_out(op: OpInfo) -> None:
    dtype = next(dtype for dtype in (torch.float32, torch.int64, torch.bool, *op.dtypes) if dtype in op.dtypes)
    sample = next(iter(op.sample_inputs("cpu", dtype)))
    out = op(sample.input, *sample.args, **sample.kwargs)
    values = (sample.input, sample.args, sample.kwargs, out)
    compare_versions(lambda v: op(v[0], *v[1], **v[2], out=v[3]), values)


@pytest.mark.parametrize("op", [op for op in FOREACH if op.inplace_variant is not None], ids=lambda op: op.name)
def test_versions_of_foreach(op: OpInfo) -> None:
    samples = op.sample_inputs("cpu", torch.float32, noncontiguous=False, same_size=True, num_input_tensors=[2])
    sample = next(iter(samples))
    options = {key: value for key, value in sample.kwargs.items() if key in ("alpha", "value")}
    compare_versions(lambda v: op.inplace_variant(v[0], *v[1], **v[2]), (sample.input, sample.args, options))


@pytest.mark.parametrize("options", [{"foreach": True}, {"foreach": False}, {"fused": True}], ids=str)
@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad])
def test_versions_of_optimizers(make: type[torch.optim.Optimizer], options: dict[str, bool]) -> None:
    def train() -> list[int]:
        model = nn.Linear(3, 3)
        optimizer = make(model.parameters(), **options)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(3)).sum().backward()
            optimizer.step()
        return versions(list(model.parameters()))

    plain = train()
    with inplace_sanitizer():
        assert train() == plain
