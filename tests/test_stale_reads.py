"""Values that had changed when they were read: the sanitizer names who took, overwrote and read them."""

import copy
import inspect
import re
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch
from test_silent import CLEAN, PAIRS
from torch import nn
from twins import executed

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


def previous_state() -> None:
    state = torch.ones(3) * 2
    before = state
    state.add_(1)  # noqa: TIP303 writes
    before.sum()  # reads


def previous_state_in_a_loop() -> None:
    state = torch.ones(3) * 2
    for _ in range(2):
        before = state
        with torch.no_grad():
            state += 1  # noqa: TIP303 writes
        torch.dist(before, torch.zeros(3))  # reads


def argument_of_a_helper() -> None:
    def spread(values: torch.Tensor) -> torch.Tensor:
        values -= values.mean()  # noqa: TIP304 writes
        return values.abs().max()

    scores = torch.arange(3.0) * 2
    widest = spread(scores)
    (scores / widest).sum()  # reads


def shortcut_of_an_activation() -> None:
    inputs = torch.ones(3).neg()
    skip = inputs
    hidden = nn.functional.relu(inputs, inplace=True)  # noqa: TIP303 writes
    torch.add(hidden, skip)  # reads


def statistics_compared_with_themselves() -> None:
    norm = nn.BatchNorm1d(2)
    norm.running_mean.zero_()
    before = norm.running_mean
    norm(torch.randn(4, 2))  # noqa: TIP303 writes
    torch.sub(norm.running_mean, before)  # reads


def parameters_compared_with_themselves() -> None:
    parameters = [torch.ones(2) * 2]
    old = list(parameters)
    parameters[0].mul_(2)  # noqa: TIP303 writes
    for new, kept in zip(parameters, old, strict=True):
        (new - kept).norm()  # reads


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
    previous_state,
    previous_state_in_a_loop,
    argument_of_a_helper,
    shortcut_of_an_activation,
    statistics_compared_with_themselves,
    parameters_compared_with_themselves,
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


def name_bound_after_the_write() -> None:
    state = torch.ones(3) * 2
    for _ in range(2):
        state.add_(1)
        shown = state
        shown.sum()


def name_bound_in_each_round() -> None:
    state = torch.ones(3) * 2
    for i in range(3):
        shown = state
        if i == 0:
            state.add_(1)
            continue
        shown.sum()


def written_by_both_names() -> None:
    state = torch.ones(3) * 2
    same = state
    state.add_(1)  # noqa: TIP303
    same.fill_(2)  # noqa: TIP303
    state.sum()
    same.sum()


def call_for_the_write() -> None:
    def count(table: torch.Tensor, item: int) -> None:
        table[item] += 1

    def scale_(values: torch.Tensor) -> float:
        return float(values.mul_(2).sum())

    table = torch.ones(3) * 2
    count(table, 1)
    table.sum()
    largest = scale_(table)
    (table / largest).sum()


def output_that_a_function_fills() -> None:
    def flat(parts: list[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
        for i, part in enumerate(parts):
            out[i] = part  # noqa: TIP304
        return out

    work = torch.empty(2)
    for _ in range(2):
        found = flat([torch.ones(()), torch.ones(()) * 3], work)
        found.norm() + work.norm()


def difference_of_two_elements() -> None:
    vectors = [torch.ones(2) * 2, torch.ones(2)]
    for vector in vectors:
        vector.div_(vector.norm())
    for i in range(2):
        for j in range(2):
            (vectors[i] - vectors[j]).norm()


def parameter_after_a_step() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], 0.1)
    old = weight.detach().clone()
    weight.sum().backward()
    optimizer.step()
    torch.sub(weight, old)


@pytest.mark.parametrize(
    "program",
    [
        training,
        name_bound_after_the_write,
        name_bound_in_each_round,
        written_by_both_names,
        call_for_the_write,
        output_that_a_function_fills,
        difference_of_two_elements,
        parameter_after_a_step,
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


def test_values_live_no_longer() -> None:
    def program() -> weakref.ref[torch.Tensor]:
        state = torch.ones(3) * 2
        before = state
        state.add_(1)  # noqa: TIP303
        before.sum()
        del before
        other = weakref.ref(state)
        del state
        torch.ones(1)
        return other

    with inplace_sanitizer("record", stale_reads=True) as report:
        assert program()() is None
    assert report.stale


def test_a_function_keeps_its_own_table_of_variables() -> None:
    def program() -> tuple[int, int]:
        state = torch.ones(3) * 2
        table = locals()
        size = len(table)
        state.add_(1)
        state.sum()
        return size, len(table)

    with inplace_sanitizer("record", stale_reads=True):
        assert program() == (1, 1)


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


#: Right programs in which a tensor is to follow its memory: nothing tells that from a mistake.
MEANT = {
    "elements of arrays that trade places: a heap that gives its least, marks that go down a tree",
    "record that each step of a list overwrites and hands on",
    "arrays: array shown through a tensor while its rows are left out",
    "parameters: vector that moves, and is made the parameters again",
    "a direction that is built under a second name",
    "elements that are finished after they were put into a list, and a name for the array that a tensor writes to",
    "variables that are bound together with an attribute",
    "elements that are ruled out of tables on purpose, one after the other",
    "masks that each call fills at the same places",
    "a part of a tensor is read before and after the tensor is scaled by its greatest value",
    "a window on a buffer shows what a file has filled it with",
    "array filled through its own name",
    "scores read where a function found the best of what it left",
    "row of a table that is filled by the base or by a function that gets it",
    "gradients of tiles, written where they are or copied there",
    "a weight that a layer scales as it is made, and shares",
    "beam search with caches that each beam owns",
    "default that is a variable of the module, which each call makes smaller",
    "flat gradient buffer",
    "flat parameters, SAM and stochastic weight averaging",
    "function within a function that shows a row as it is when it is called",
    "functions that clip or normalise their argument, and return the size it had",
    "functions that scale an argument by other tensors as a statement: it is the state of who calls them",
    "gradient aliases read each step",
    "short names and tables of a live state, sums in the first of parts, a state that a step fills",
    "sync weights to actor",
    "functions that count or measure what they bound in place, and return that",
    "tensor over an array that a loop updates, and the reverse",
    "sums of windows, with weights of their own only where they are wanted",
    "two networks share their weights, and an optimizer updates them as those of both",
    "view is written after the base was cleared",
    "window on a grid read each step",
    "work buffers used up one by one, sums emptied and filled, windows on a state",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="instructions have no columns before")
def test_silent_programs(tmp_path: Path) -> None:
    """How many wrong programs have their reader named, and which right ones do."""

    def told(text: str, number: int) -> bool:
        file = tmp_path / f"program_{number}.py"
        file.write_text(text)
        with inplace_sanitizer("record", stale_reads=True) as report:
            executed(text, str(file))
        return bool(report.stale)

    wrong = {pair.lines: pair for pair in PAIRS}.values()
    right = [(pair.heading, pair.text("#+")) for pair in wrong] + CLEAN
    found = sum(told(pair.text("#-"), number) for number, pair in enumerate(wrong))
    meant = {heading for number, (heading, text) in enumerate(right, 1000) if told(text, number)}
    print(f"\nstale reads: in {found} of {len(wrong)} wrong programs, in {len(meant)} of {len(right)} right ones")
    assert found >= 220
    assert meant <= MEANT
