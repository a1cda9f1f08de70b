"""Values that had changed when they were read: the sanitizer names who took, overwrote and read them."""

import copy
import inspect
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

from flake8_inplace.runtime import InplaceHazardWarning, inplace_sanitizer
from flake8_inplace.runtime.verify import main

MARK = re.compile(r"#.* (taken|writes|reads)$")


def state_dict_kept() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    best = model.state_dict()  # taken
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()  # noqa: TIP307 writes
    model.load_state_dict(best)  # reads


def detached_parameter() -> None:
    weight = nn.Parameter(torch.ones(3))
    old = weight.detach()  # taken
    with torch.no_grad():
        weight.mul_(2)  # noqa: TIP303 writes
    assert (weight - old).sum() == 0  # reads


def window() -> None:
    frames = torch.zeros(4, 2)
    first = frames[0]  # taken
    frames += 1  # writes
    first.sum()  # reads


def sibling() -> None:
    pixels = torch.ones(4)
    rows = pixels.view(2, 2)  # taken
    pixels.detach().div_(2)  # writes
    rows.mean()  # reads


def out_argument() -> None:
    buffer = torch.ones(3)
    kept = buffer.view(3)  # taken
    torch.exp(torch.ones(3), out=buffer)  # writes
    torch.stack([kept, buffer])  # reads


def array_under_a_tensor() -> None:
    state = numpy.zeros(3, dtype=numpy.float32)
    observed = torch.from_numpy(state)  # taken
    state += 1
    observed.sum()  # reads


def tensor_of_an_array() -> None:
    state = numpy.zeros(3)
    observed = torch.as_tensor(state)  # taken
    state[0] = 1
    observed.sum()  # reads


def array_of_a_tensor() -> None:
    values = torch.ones(3)
    shown = values.numpy()  # taken
    values.add_(1)  # writes
    shown.mean()  # reads


def array_that_is_copied_too_late() -> None:
    values = torch.ones(3)
    shown = values.numpy()  # taken
    values.add_(1)  # writes
    shown.copy()  # reads


def gradient_kept_over_a_backward() -> None:
    weight = nn.Parameter(torch.ones(3))
    weight.sum().backward()
    first = weight.grad  # taken
    (2 * weight).sum().backward()
    assert first is not None
    first.norm()  # reads


def one_buffer_in_a_list() -> None:
    step, history = torch.zeros(2), []
    for _ in range(3):
        step += 1  # noqa: TIP303 writes
        history.append(step.tanh_())  # noqa: TIP303 writes
    torch.stack(history)  # reads


STALE = [
    state_dict_kept,
    detached_parameter,
    window,
    sibling,
    out_argument,
    array_under_a_tensor,
    tensor_of_an_array,
    array_of_a_tensor,
    array_that_is_copied_too_late,
    gradient_kept_over_a_backward,
    one_buffer_in_a_list,
]


@pytest.mark.parametrize("program", STALE, ids=lambda program: program.__name__)
def test_all_lines_are_named(program: Callable[[], None]) -> None:
    with inplace_sanitizer("record", stale_reads=True) as report:
        program()
    lines, first = inspect.getsourcelines(program)
    marked = {(found[1], at + first) for at, line in enumerate(lines) if (found := MARK.search(line))}
    read = report.stale[0]
    named = {("reads", read.read_at[0].line)} | {("writes", write.stack[0].line) for write in read.writes}
    if any(what == "taken" for what, _ in marked):
        named.add(("taken", read.taken_at[0].line))
    assert named == marked
    assert not report.hazards
    assert str(read).splitlines()[0] in str(report)


def training() -> None:
    """Optimizers, clipping, moving averages, statistics and a reduced precision: each writes to what it owns."""
    model = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Linear(8, 2))
    average = copy.deepcopy(model)
    for make in (torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW):
        optimizer = make(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            model(torch.randn(4, 2)).sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for parameter, mean in zip(model.parameters(), average.parameters(), strict=True):
                    mean.data.mul_(0.9).add_(parameter.data, alpha=0.1)
    average.load_state_dict(model.state_dict())
    model.eval()(torch.ones(4, 2).to(torch.float32))


def rows_of_a_table() -> None:
    table = torch.arange(12.0).view(3, 4)
    for row in table:
        row += 1
    table[:, 0] = 3
    table[1].div_(2)
    table.sum()


def other_part() -> None:
    frames = torch.zeros(4, 2)
    first = frames[0]
    frames[1] = 1
    first.sum()


def through_the_array() -> None:
    values = torch.ones(3)
    values.numpy()[0] = 2
    values.numpy().fill(3)
    values.sum()


def gradient_asked_for_again() -> None:
    weight = nn.Parameter(torch.ones(3))
    for _ in range(2):
        weight.sum().backward()
        assert weight.grad is not None
        weight.grad.norm()


def memory_given_to_a_parameter() -> None:
    weight = nn.Parameter(torch.ones(3))
    weight.data = torch.zeros(3)
    weight.data.add_(1)
    weight.sum()


def twice_in_a_list() -> None:
    row = torch.ones(2)
    torch.stack([row, row])


@pytest.mark.parametrize(
    "program",
    [
        training,
        rows_of_a_table,
        other_part,
        through_the_array,
        gradient_asked_for_again,
        memory_given_to_a_parameter,
        twice_in_a_list,
    ],
    ids=lambda program: program.__name__,
)
def test_what_writes_to_its_own_is_not_told(program: Callable[[], None]) -> None:
    with inplace_sanitizer("record", stale_reads=True) as report:
        program()
    assert not report.stale


def test_it_warns_and_raises_nothing() -> None:
    warned = pytest.warns(InplaceHazardWarning, match="read after something else had overwritten it")
    with warned, inplace_sanitizer(stale_reads=True) as report:
        for _ in range(3):
            window()
    assert len(report.stale) == 1


def test_nothing_is_looked_for_unless_asked() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with inplace_sanitizer() as report:
            window()
    assert not report.stale


@pytest.mark.filterwarnings("ignore")
def test_compiled_code_runs() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.sin().relu_() * 2

    with inplace_sanitizer("record", stale_reads=True):
        result = torch.compile(function, backend="eager")(torch.ones(3))
    assert torch.equal(result, function(torch.ones(3)))


SCRIPT = """
import torch

weight = torch.ones(3)
old = weight.detach()
weight.mul_(2)
print((weight - old).sum())
rows = torch.zeros(2, 2)
row = rows[0]
rows.add_(1)
row.sum()
"""


def test_verify_tells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    assert main(["train.py"]) == main(["--stale-reads", "train.py"])
    out = capsys.readouterr().out
    assert out.count("values that had changed when they were read, which may be meant:") == 1
    assert "train.py:11 in <module>\n        row.sum()" in out.replace("    at", "at")
