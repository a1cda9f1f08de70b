"""The table of facts against PyTorch itself."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from flake8_inplace.models import dtypes
from flake8_inplace.torchfacts import modules, notation, ops, sizes

torch = pytest.importorskip("torch", reason="the facts are compared with an installed PyTorch")
pytest.importorskip("expecttest", reason="op_db lives in torch.testing._internal, which imports expecttest")

pytestmark = pytest.mark.filterwarnings("ignore")

import facts_oracle as oracle  # noqa: E402

from flake8_inplace.torchfacts import (  # noqa: E402
    contents,
    execution,
    handwritten,
    kinds,
    layer_recipes,
    layers,
    learning,
    recipes,
    schemas,
)

PINNED = torch.__version__.partition("+")[0] == ops.torch_version()
on_the_pinned_torch = pytest.mark.skipif(not PINNED, reason=f"the table is that of torch {ops.torch_version()}")


@pytest.fixture(scope="module")
def generate() -> Any:
    import flake8_inplace.torchfacts.generate as generate

    torch.set_num_threads(1)
    return generate


@pytest.fixture(scope="module")
def samples() -> Any:
    import flake8_inplace.torchfacts.samples as samples

    torch.set_num_threads(1)
    return samples


# -- the file


def test_loading_is_fast_and_needs_no_torch() -> None:
    code = """
import sys, time
from flake8_inplace.torchfacts import modules, ops
def load():
    ops.table.cache_clear(); ops.lookup.cache_clear(); modules.lookup.cache_clear()
    start = time.process_time()
    assert ops.lookup("torch.mul") and modules.lookup("torch.nn.Linear")
    return time.process_time() - start
print(min(load() for _ in range(20)) * 1000, *{"torch", "numpy", "libcst"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    milliseconds, *loaded = done.stdout.split()
    assert loaded == []
    assert float(milliseconds) < 5


WHOLE = ops.TABLE.read_text(encoding="utf-8")
DAMAGED = [
    None,
    "",
    "[]",
    "\xff",
    WHOLE[: len(WHOLE) // 2],
    '{"format": 0}',
    WHOLE.replace('"format": 1', '"format": 2'),
    WHOLE.replace("|", " ; "),
]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_table_is_one_clear_error(text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "ops.json"
    if text is not None:
        damaged.write_bytes(text.encode("latin-1"))
    monkeypatch.setattr(ops, "TABLE", damaged)
    ops.table.cache_clear()
    ops.lookup.cache_clear()
    try:
        with pytest.raises(ops.FactsError, match=r"ops\.json.*reinstall"):
            ops.lookup("torch.mul")
    finally:
        ops.table.cache_clear()
        ops.lookup.cache_clear()


def test_rows_are_read_and_written_alike() -> None:
    table = ops.table()
    rows = [*table["rows"], *(entry["op"] for entry in table["modules"].values())]
    assert [row for row in rows if notation.format_op(notation.parse_op(row)) != row] == []


def test_a_table_of_ones_own_may_say_whatever_the_notation_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {"rows": ["old|x:T"], "names": {"own.old": [0]}, "modules": {}}
    monkeypatch.setattr(ops, "table", lambda: known)
    outs = "fresh same(x) view(x) views(x)[] expand(x) maybe(x) detached(x) unsafe(x) fresh! fresh#"
    rows = [f"gate|x:T n? * y:L|x<x,y result<x~|x|{outs}", "other|x:T"]
    given = {"format": ops.FORMAT, "rows": rows, "names": {"own.gate": [0], "own.old": [1]}}
    (tmp_path / "own.json").write_text(json.dumps(given))
    try:
        ops.extend(str(tmp_path / "own.json"))
        (gate,), (old,) = ops.lookup("own.gate"), ops.lookup("own.old")
    finally:
        monkeypatch.undo()
        ops.lookup.cache_clear()
    assert " ".join(dict.fromkeys(out.kind for out in gate.outs)) == (
        "fresh same view views expand maybe detached unsafe"
    )
    assert [out.many for out in gate.outs].index(True) == 3
    assert [(out.differentiable, out.integral) for out in gate.outs[-2:]] == [(False, False), (False, True)]
    assert old.name == "other"  # one's own names go before those that are known


def every_op() -> Iterator[tuple[str, notation.Op]]:
    for name in sorted(ops.names()):
        yield from ((name, op) for op in ops.lookup(name))
    for name in sorted(modules.names()):
        fact = modules.lookup(name)
        assert fact is not None
        yield name, fact.op
        if fact.inplace:
            yield f"{name}(inplace)", fact.inplace


def test_rows_make_sense() -> None:
    """Slots, needs, writes and aliases are names of parameters; results exist."""
    for name, op in every_op():
        params = [p.name for p in op.params]
        assert len(set(params)) == len(params), name
        results = {f"result{i or ''}" for i in range(len(op.outs))}
        for save in op.saves:
            assert save.slot in params or save.slot in results, (name, save)
            assert save.needs and set(save.needs) <= set(params), (name, save)
            assert save.slot not in op.writes, (name, save)
        assert set(op.writes) <= set(params), name
        for out in op.outs:
            assert (out.of in params) if out.kind != "fresh" else out.of is None, (name, out)
        if op.inplace:
            assert ops.lookup(op.inplace), name


@on_the_pinned_torch
def test_generating_again_gives_the_same_table(generate: Any) -> None:
    assert generate.main(["--check"]) == 0


@on_the_pinned_torch
def test_one_operator_or_layer_is_measured_alone(generate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["torch.nn.functional.interpolate", "torch.nn.AdaptiveAvgPool1d"]
    assert generate.main(["--only", *names]) == 0
    functional, layer = capsys.readouterr().out.splitlines()
    assert functional == f"{names[0]}: {notation.format_op(ops.lookup(names[0])[0])}"
    fact = modules.lookup(names[1])
    assert fact is not None and layer == f"{names[1]}: op: {notation.format_op(fact.op)}"
    assert generate.main(["--only", "torch.no_such_name"]) == 1


def test_a_mask_that_is_broadcast_is_copied(generate: Any) -> None:
    """The generator gives an optional tensor another shape, which shows when it is copied."""
    (op,) = ops.lookup("torch.masked.sum")
    (save,) = (save for save in op.saves if save.slot == "mask")
    assert [condition.option for condition in save.when] == ["mask.shape"]
    assert made(save, {"mask.shape": "same"}) and not made(save, {"mask.shape": "other"})


@pytest.mark.parametrize("name", ["torch.matmul", "torch.linalg.matmul", "Tensor.__matmul__"])
def test_a_batch_that_is_multiplied_by_one_matrix_is_copied(name: str) -> None:
    (op,) = ops.lookup(name)
    (save,) = (save for save in op.saves if save.slot == "other")
    assert [notation.format_condition(condition) for condition in save.when] == ["other.shape!=batch"]
    assert sizes.relation((2, 4, 5), (3, 4)) == sizes.relation((2, 1, 4, 5), (4,)) == "batch"
    assert sizes.relation((1, 4, 5), (3, 4)) != "batch" != sizes.relation((2, 4, 5), (2, 3, 4))


@pytest.mark.parametrize("name", [f"torch.fft.{name}" for name in "fft ifft rfft ihfft rfft2 rfftn ihfft2".split()])
def test_a_transform_that_cuts_its_input_saves_it(name: str) -> None:
    op = ops.lookup(name)[1]
    (save,) = op.saves
    (condition,) = save.when
    option = condition.option.removesuffix(notation.FITS)
    size = {"n": 3, "s": (2, 3)}[option]
    assert sizes.holds_sizes((3, 4), (3,) if option == "n" else (2, 3), None)
    for given, saved in ((size, True), (9 if option == "n" else (2, 9), False)):
        x = torch.rand(3, 4).requires_grad_().clone()
        y = getattr(torch.fft, name.removeprefix("torch.fft."))(x, given)
        x.zero_()
        if saved:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.abs().sum().backward()
        else:
            y.abs().sum().backward()


def test_a_condition_names_the_values_that_it_can() -> None:
    """`dims=(0, 2)` copies what is saved otherwise; no condition can name it, but one can name `dims=None`."""
    changed = [learning.Trial({"dims": "(0, 2)"}, False, 0), learning.Trial({}, True, 0, "dims")]
    learnt = learning.learn([*changed, learning.Trial({}, True, 1), learning.Trial({}, True, 2)], 0.65)
    assert learnt.rules == ((notation.Condition("dims", (None,)),),)


def test_what_keeps_the_shape_of_its_operands() -> None:
    kept = "mul add sub div exp gt clone softmax cumsum zeros_like".split()
    assert all(map(ops.keeps_shape, kept)), [name for name in kept if not ops.keeps_shape(name)]
    assert not any(map(ops.keeps_shape, "matmul mm einsum sum max transpose reshape cat linear outer inverse".split()))


# -- what is saved: PyTorch refuses the backward pass after the tensor was overwritten


def made(save: notation.Save, options: dict[str, Any]) -> bool | None:
    """Whether the row says that a call with these options makes this save; None if it leaves that open."""
    if save.device:
        return False
    if save.when:
        return all(condition.holds(options.get(condition.option)) for condition in save.when)
    return True if save.sure else None


class Score:
    """Sampled runs: one call, the tensors of one parameter requiring grad, every slot overwritten in turn."""

    def __init__(self) -> None:
        self.runs = self.right = self.undecided = self.slots = 0
        self.wrong: Counter[str] = Counter()
        self.partly: set[str] = set()  # lists of which some tensors are saved, and others are not

    def run(
        self,
        name: str,
        op: notation.Op,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Any,
        settings: dict[str, Any] | None = None,
    ) -> None:
        bound = execution.bind(op, args, kwargs) or {}
        held = {p: tensors for p, v in bound.items() if (tensors := oracle.tensors_in(v))}
        everything = [t for ts in held.values() for t in ts]
        if len({id(t) for t in everything}) < len(everything) or any(t.layout != torch.strided for t in everything):
            return  # which of two equal arguments was saved cannot be told
        for requires, tensors in held.items():
            floats = [t for t in tensors if execution.is_float(t)]
            right = []
            for slot in slots(op, held) if floats else ():
                targets = [[each] for each in held[slot]] if slot in held else [int(slot[6:] or 0)]
                try:
                    found = [oracle.is_saved(function, args, kwargs, floats, target) for target in targets]
                except oracle.Undecided:
                    self.undecided += 1
                    continue
                saved = all(found)  # a list counts as saved if all of its tensors are
                if saved is not any(found):
                    self.partly.add(f"{name}: {slot}")
                options = execution.options_of(op, bound) | (settings or {})
                predicted = {made(s, options) for s in op.saves if s.slot == slot and requires in s.needs}
                right.append(None in predicted or (True in predicted) == saved)
                if not right[-1]:
                    self.wrong[f"{name}: {slot} when {requires} requires grad: {'not ' * (not saved)}saved"] += 1
            self.slots += len(right)
            self.runs += bool(right)
            self.right += bool(right) and all(right)

    def __str__(self) -> str:
        share = f"{self.right} of {self.runs} sampled runs right ({self.right / self.runs:.2%})"
        figures = f"{share}, {self.slots} slots overwritten, {self.undecided} undecided"
        return "\n".join([figures, *(f"{n} {what}" for what, n in self.wrong.most_common())])


def slots(op: notation.Op, held: dict[str, Any]) -> list[str]:
    """What can be overwritten by name: arguments that the op leaves alone, and outputs that are no alias of one."""
    outputs = [f"result{i or ''}" for i, out in enumerate(op.outs) if out.kind in ("fresh", "same")]
    return [name for name in held if name not in op.writes] + outputs


def overload(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> notation.Op | None:
    """The overload that takes these arguments."""
    return next((op for op in ops.lookup(name) if execution.bind(op, args, kwargs) is not None), None)


# Their samples hold the arguments in an order of op_db's own.
OTHER_ORDER = (".embedding", ".embedding_bag", ".ctc_loss")


@on_the_pinned_torch
def test_integers_of_integers(samples: Any) -> None:
    """What `dtypes.EXACT` says: without a fraction among the operands, there is none in the result."""
    seen = set()
    for info in samples.op_db:
        name = info.name.rpartition(".")[2]
        if name in dtypes.EXACT and torch.int64 in info.dtypes:
            for sample in info.sample_inputs("cpu", torch.int64):
                if not fractions((sample.args, sample.kwargs)):
                    seen.add(name)
                    assert not fractions(info(sample.input, *sample.args, **sample.kwargs)), info.name
    assert seen == dtypes.EXACT


def fractions(value: Any) -> bool:
    """Whether there is a number with a fraction, or a type of such, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(map(fractions, value))
    dtype = getattr(value, "dtype", value)
    return isinstance(value, float) or (isinstance(dtype, torch.dtype) and dtype.is_floating_point)


@on_the_pinned_torch
def test_saves_of_op_db(samples: Any) -> None:
    score = Score()
    entries = 0
    for info in samples.op_db:
        names = [n for n in samples.opinfo_names(info) if ops.lookup(n) and not n.endswith(OTHER_ORDER)]
        # Another dtype than the generator's, where there is one, and a few samples of each.
        calls = samples.opinfo_calls(info, (torch.float64, *samples.DTYPES)) if names else []
        calls = random.Random(1).sample(calls, min(4, len(calls)))
        before = score.runs
        for name in names:
            for args, kwargs in calls:
                kwargs = samples.given(name, kwargs)
                op = overload(name, args, kwargs)
                if op is not None:
                    score.run(name, op, schemas.callable_for(name), args, kwargs)
        entries += score.runs > before
    print(entries, "entries of op_db:", score)
    assert not score.partly
    assert entries > 450
    assert score.runs > 3000
    assert score.right / score.runs >= 0.99


@on_the_pinned_torch
def test_saves_of_other_ops(samples: Any) -> None:
    """Names that op_db does not reach: by their recipe, or on tensors made up."""
    score = Score()
    reached = {name for info in samples.op_db for name in samples.opinfo_names(info)}
    torch.manual_seed(1)
    for name in sorted(ops.names()):
        if (
            name.endswith("(inplace)")
            or "._foreach_" in name
            or name in handwritten.ROWS
            or (name in reached and name not in recipes.RECIPES)
        ):
            continue
        recipe = recipes.RECIPES.get(name)
        for op in ops.lookup(name):
            for args, kwargs in recipe() if recipe else samples.improvised_calls(op):
                kwargs = samples.given(name, kwargs)
                if overload(name, args, kwargs) == op:
                    score.run(name, op, schemas.callable_for(name), args, kwargs)
    print(score)
    assert score.partly == {"torch.lstm_cell: hx"}
    assert score.runs > 450
    assert score.right / score.runs >= 0.99


@on_the_pinned_torch
def test_saves_of_inplace_options() -> None:
    score = Score()
    for name in sorted(n for n in ops.names() if n.endswith("(inplace)")):
        plain_name = name.removesuffix("(inplace)")
        (op,) = ops.lookup(name)
        for args in ((oracle.floats(2, 3, 4),), (oracle.floats(2, 3, 4), 0.3), (oracle.floats(2, 3, 4), 0.3, 0.5)):
            score.run(name, op, schemas.callable_for(plain_name), args, {"inplace": True})
    print(score)
    assert not score.partly
    assert score.runs >= 30
    assert score.right == score.runs


@on_the_pinned_torch
def test_saves_of_modules() -> None:
    score = Score()
    for name, recipe in layer_recipes.MODULES.items():
        fact = modules.lookup(f"torch.nn.{name}")
        assert fact is not None
        if len(fact.parameters) > 20:
            continue  # whole transformers: the layers they are made of are checked
        for op, options in [(fact.op, {})] + ([(fact.inplace, {"inplace": True})] if fact.inplace else []):
            defaults = layers.constructor_defaults(name)
            given = {**dict(zip(defaults, recipe.args, strict=False)), **recipe.kwargs, **options}
            settings = layers.settings(defaults, given)
            module = layers.built(name, given)
            for args, kwargs in recipe.calls():
                kwargs = {**kwargs, **layers.module_tensors(module)}
                score.run(name, op, layers.module_function(module), args, kwargs, settings)
    print(score)
    assert score.partly == {"LSTMCell: hx"}  # the hidden state, for the gradient of weight_hh alone
    assert score.runs > 250
    assert score.right / score.runs >= 0.99


@on_the_pinned_torch
def test_saves_of_formulas_are_what_the_node_holds(samples: Any) -> None:
    """`grad_fn._saved_self` and its like, for every op that can be called on plain tensors."""
    agree, differ = 0, []
    for name, overloads in sorted(schemas.schema_table().items()):
        exact = [
            o.op for o in overloads if o.exact and not o.op.writes and all(p.kind != "tensors" for p in o.op.params)
        ]
        for op in exact if name.startswith("torch.") and "._foreach_" not in name else ():
            for args, kwargs in samples.improvised_calls(op):
                held = saved_attributes(schemas.callable_for(name), args, kwargs)
                if held is None:
                    continue
                given = execution.bind(op, args, kwargs) or {}
                # x * 2 keeps the 2, as a tensor of its own.
                held -= {slot for slot, value in given.items() if not isinstance(value, torch.Tensor)}
                expected = {s.slot for s in op.saves if s.slot in given or s.slot.startswith("result")}
                agree += held == expected
                if held != expected:
                    differ.append(f"{name}: the node holds {sorted(held)}, the formula says {sorted(expected)}")
                break
    print(f"{agree} of {agree + len(differ)} agree", *differ, sep="\n")
    assert agree > 200
    assert len(differ) <= agree // 50


def saved_attributes(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> set[str] | None:
    """The slots of the node a call makes, its inputs by the names the formula gives them."""
    args = [a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
    try:
        result = function(*args, **kwargs)
    except Exception:
        return None
    outputs = oracle.tensors_in(result)
    nodes = {t.grad_fn for t in outputs if t.grad_fn is not None}
    if len(nodes) != 1:
        return None
    node = nodes.pop()
    if any(next_node is not None and "AccumulateGrad" not in next_node.name() for next_node, _ in node.next_functions):
        return None  # composed of several ops on this device
    slots = set()
    for attribute in dir(node):
        if attribute.startswith("_saved_") and isinstance(getattr(node, attribute), torch.Tensor):
            slots.add(attribute.removeprefix("_saved_"))
    names = {"result0": "result"} | {
        n: f"result{i or ''}" for i, n in enumerate(getattr(type(result), "__match_args__", ()))
    }
    return {names.get(slot, slot) for slot in slots}


# -- what is overwritten, and what outputs alias


@on_the_pinned_torch
def test_writes_and_aliases(samples: Any) -> None:
    """Version counters and storages of every op that can be called, against what its row says."""
    table = {
        name: [execution.Overload(op, False) for op in ops.lookup(name)] for name in ops.names() if "(" not in name
    }
    for names, calls in samples.samples(table):
        for args, kwargs in random.Random(2).sample(calls, min(2, len(calls))):
            for name in names:
                execution.measure(table[name], schemas.callable_for(name), args, samples.given(name, kwargs), False)
    for name, overload in [(name, o) for name, overloads in table.items() for o in overloads]:
        if not overload.runs and schemas.resolve(name):
            calls = samples.improvised_calls(overload.op)
            any(execution.measure([overload], schemas.callable_for(name), *call, False) for call in calls)
    checked, wrong, written = 0, [], set()
    for name, overloads in table.items():
        for overload in overloads:
            for run in overload.runs:
                checked += 1
                written |= {name} if run.written else set()
                if run.written - set(overload.op.writes):
                    wrong.append(f"{name} also writes {set(run.written)}")
                if set(overload.op.writes) & run.present - run.written and not run.empty:
                    wrong.append(f"{name} does not write {overload.op.writes}")
                wrong += [f"{name}: {text}" for text in alias_errors(overload.op, run)]
    print(
        f"{checked} runs of {sum(any(o.runs for o in os) for os in table.values())} names",
        *sorted(set(wrong)),
        sep="\n",
    )
    assert checked > 3000
    assert len(wrong) <= checked // 100
    # Every in-place method that can be called was seen to raise the counter.
    assert len({n for n in written if n.startswith("Tensor.") and n.endswith("_")}) > 120


ALLOWED = {
    "fresh": {"fresh", "none"},
    "same": {"same"},
    "view": {"view", "same"},
    "views": {"views", "fresh"},
    "expand": {"expand", "view", "same", "fresh"},
    "detached": {"detached"},
    "unsafe": {"unsafe"},
    "maybe": {"same", "view", "expand", "fresh", "detached"},
}


def alias_errors(op: notation.Op, run: Any) -> Iterator[str]:
    if run.empty or len(run.outs) != len(op.outs):
        return
    for out, seen in zip(op.outs, run.outs, strict=True):
        kinds = ALLOWED[out.kind]
        if seen.kind not in kinds and (run.requires or seen.kind != "view"):
            yield f"{out.kind} expected, {seen.kind} seen"
        if seen.kind not in ("fresh", "none") and out.of != seen.of and out.kind != "fresh":
            yield f"alias of {out.of} expected, of {seen.of} seen"
        if seen.differentiable and not out.differentiable:
            yield "requires grad"
        if out.integral and not seen.integral:
            yield "holds floats"


SHARING = {
    "detach": (lambda x: x.detach(), True),
    "view": (lambda x: x.view(-1), True),
    "__getitem__": (lambda x: x[0], True),
    "t": (lambda x: x.t(), True),
    "expand": (lambda x: x.expand(2, 3, 4), True),
    "reshape": (lambda x: x.reshape(-1), True),
    "T": (lambda x: x.T, True),
    "chunk": (lambda x: x.chunk(2)[0], True),
    "unbind": (lambda x: x.unbind(0)[0], True),
    "contiguous": (lambda x: x.contiguous(), True),
    "float": (lambda x: x.float(), True),
    "to": (lambda x: x.to("cpu"), True),
    "unfold": (lambda x: x.unfold(0, 2, 1), True),
    "diagonal": (lambda x: x.diagonal(), True),
    "squeeze": (lambda x: x.squeeze(), True),
    "real": (lambda x: x.real, True),
    "clone": (lambda x: x.clone(), False),
    "unsafe_chunk": (lambda x: x.unsafe_chunk(2)[0], False),
    "unsafe_split": (lambda x: x.unsafe_split(2)[0], False),
    "__mul__": (lambda x: x * 1, False),
}


@pytest.mark.parametrize("method", SHARING)
def test_sharing_of_the_version_counter(method: str) -> None:
    make, shares = SHARING[method]
    x = torch.rand(3, 4)
    y = make(x)
    before = x._version
    torch.Tensor.zero_(y) if method != "expand" else x.zero_()
    assert (x._version > before) == shares or (method == "expand" and y._version > before)
    out = ops.lookup(f"Tensor.{method}")[-1].outs[0]
    assert (out.kind not in ("fresh", "unsafe")) == shares


# -- spot checks


def slots_of(name: str, *needs: str) -> set[str]:
    """What the overload of most tensors saves for sure when these parameters require grad."""
    op = max(ops.lookup(name), key=lambda op: sum(p.kind == "tensor" for p in op.params))
    sure = [s for s in op.saves if made(s, {})]
    return {s.slot for s in sure if set(needs) & set(s.needs)}


@pytest.mark.parametrize(
    ("name", "needs", "saved"),
    [
        ("torch.sigmoid", "input", "result"),
        ("torch.tanh", "input", "result"),
        ("torch.exp", "input", "result"),
        ("torch.sqrt", "input", "result"),
        ("torch.relu", "input", "result"),
        ("torch.softmax", "input", "result"),
        ("torch.nn.functional.softmax", "input", "result"),
        ("torch.special.expit", "input", "result"),
        ("torch.log", "input", "input"),
        ("torch.nn.functional.gelu", "input", "input"),
        ("torch.nn.functional.silu", "input", "input"),
        ("torch.mul", "input", "other"),
        ("torch.mul", "other", "input"),
        ("torch.div", "input", "other"),
        ("torch.div", "other", "input other"),
        ("Tensor.__truediv__", "self", "other"),
        ("Tensor.__matmul__", "self", "other"),
        ("Tensor.__imul__", "self", "other"),
        ("Tensor.__iadd__", "self", ""),
        ("Tensor.__sub__", "self other", ""),
        ("Tensor.exp_", "self", "result"),
        ("Tensor.sigmoid_", "self", "result"),
        ("Tensor.relu_", "self", "result"),
        ("Tensor.pow_", "self", "exponent result"),
        ("torch.nn.functional.relu(inplace)", "input", "result"),
        ("torch.nn.functional.leaky_relu(inplace)", "input", "result"),
        ("torch.nn.functional.silu(inplace)", "input", ""),
        ("torch.nn.functional.dropout(inplace)", "input", ""),
        ("torch.nn.functional.dropout", "input", ""),
        ("torch.nn.functional.linear", "input", "weight"),
        ("torch.nn.functional.linear", "weight", "input"),
        ("torch.nn.functional.linear", "bias", ""),
        ("torch.nn.functional.layer_norm", "input", "input weight bias"),
        ("torch.nn.functional.cross_entropy", "input", "target weight"),
        ("torch.nn.functional.embedding", "weight", "input"),
        ("torch.nn.functional.scaled_dot_product_attention", "query", "query key value attn_mask result"),
        ("torch.where", "input", "condition"),
        ("Tensor.masked_fill", "self", "mask"),
        ("Tensor.gather", "self", "self index"),
        ("Tensor.index_select", "self", "index"),
        ("Tensor.scatter_", "self", "index"),
        ("Tensor.__getitem__", "self", "index"),
        ("Tensor.__setitem__", "value", "index"),
        ("torch.cat", "tensors", ""),
        ("torch.argmax", "input", ""),
        ("torch.linalg.norm", "input", "input result"),
        ("torch.norm", "input", "input result"),
    ],
)
def test_saved_slots(name: str, needs: str, saved: str) -> None:
    assert slots_of(name, *needs.split()) == set(saved.split())


def test_numbers_are_not_tensors() -> None:
    """mul and pow with a number are overloads of their own."""
    number = next(op for op in ops.lookup("torch.pow") if [p.kind for p in op.params] == ["tensor", "other"])
    base = next(op for op in ops.lookup("torch.pow") if [p.kind for p in op.params] == ["other", "tensor"])
    assert [s.slot for s in number.saves] == ["input"]
    assert sorted(s.slot for s in base.saves) == ["exponent", "result"]
    assert not next(op for op in ops.lookup("Tensor.__mul__") if op.params[1].kind == "other").saves


@pytest.mark.parametrize(
    "names",
    [
        "torch.abs torch.absolute Tensor.abs Tensor.absolute",
        "torch.softmax Tensor.softmax torch.special.softmax",
        "torch.sigmoid torch.special.expit torch.nn.functional.sigmoid Tensor.sigmoid",
        "torch.cat torch.concat torch.concatenate",
        "torch.vstack torch.row_stack",
        "torch.matmul Tensor.matmul Tensor.__matmul__ torch.linalg.matmul",
    ],
)
def test_aliases_agree(names: str) -> None:
    def facts(name: str) -> tuple[Any, ...]:
        op = ops.lookup(name)[0]
        position = {p.name: str(i) for i, p in enumerate(op.params)}
        return (
            sorted((position.get(s.slot, s.slot), *sorted(position[n] for n in s.needs)) for s in op.saves),
            [(o.kind, o.differentiable) for o in op.outs],
        )

    first, *rest = names.split()
    assert [name for name in rest if facts(name) != facts(first)] == []


def test_unknown_names_have_no_facts() -> None:
    assert ops.lookup("torch.no_such_function") == ()
    assert modules.lookup("torch.nn.NoSuchModule") is None


def test_outputs() -> None:
    def kind(name: str) -> str:
        return ops.lookup(name)[0].outs[0].kind

    for name in (
        "Tensor.split",
        "torch.split",
        "torch.chunk",
        "Tensor.unbind",
        "Tensor.__iter__",
        "torch.split_with_sizes",
    ):
        assert kind(name) == "views" and ops.lookup(name)[0].outs[0].many, name
    for name in (
        "Tensor.reshape",
        "Tensor.contiguous",
        "Tensor.to",
        "Tensor.float",
        "torch.flatten",
        "torch.as_tensor",
    ):
        assert kind(name) == "maybe", name
    for name in ("Tensor.expand", "Tensor.expand_as", "torch.broadcast_to", "torch.meshgrid"):
        assert kind(name) == "expand", name
    for name in (
        "Tensor.view",
        "Tensor.T",
        "torch.transpose",
        "Tensor.tensor_split",
        "Tensor.squeeze",
        "Tensor.narrow",
    ):
        assert kind(name) == "view", name
    for name in (
        "torch.zeros",
        "torch.randn",
        "torch.arange",
        "torch.tensor",
        "torch.randint",
        "torch.zeros_like",
        "torch.argmax",
    ):
        assert kind(name) == "fresh" and not ops.lookup(name)[0].outs[0].differentiable, name
    assert [len(op.outs) for op in ops.lookup("torch.max")] == [1, 1, 2]
    assert ops.lookup("torch.nn.init.normal_")[0].writes == ("tensor",)


def test_modules() -> None:
    linear = modules.lookup("torch.nn.Linear")
    assert linear is not None
    assert linear.init[:3] == ("in_features", "out_features", "bias")
    assert linear.default("bias") is True
    assert linear.parameters == ("weight", "bias")
    assert [(s.slot, s.needs) for s in linear.op.saves] == [("input", ("self.weight",)), ("self.weight", ("input",))]
    relu = modules.lookup("torch.nn.ReLU")
    assert relu is not None and relu.inplace is not None
    assert relu.default("inplace") is False and relu.inplace.writes == ("input",) and relu.op.writes == ()
    norm = modules.lookup("torch.nn.BatchNorm2d")
    assert norm is not None and norm.buffers[:2] == ("running_mean", "running_var")
    lstm = modules.lookup("torch.nn.LSTM")
    assert lstm is not None and [out.many for out in lstm.op.outs] == [False, True]
    identity = modules.lookup("torch.nn.Identity")
    assert identity is not None and identity.op.outs[0].kind == "same"


def test_every_layer_is_known() -> None:
    layers = {
        n
        for n in dir(torch.nn)
        if isinstance(getattr(torch.nn, n), type) and issubclass(getattr(torch.nn, n), torch.nn.Module)
    }
    containers = {"Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Container"}
    others = {"RNNBase", "RNNCellBase", "DataParallel"}
    assert layers - containers - others == {name.removeprefix("torch.nn.") for name in modules.names()}


def test_layers_of_another_class() -> None:
    containers = {f"torch.nn.{name}" for name in ("Sequential", "ModuleList", "ModuleDict")}
    classes = {name: getattr(torch.nn, name.removeprefix("torch.nn.")) for name in modules.names() | containers}
    said = {(a, b): modules.is_a(a, b) for a in classes for b in classes}
    assert said == {(a, b): issubclass(classes[a], classes[b]) for a in classes for b in classes}
    assert modules.is_a("torch.nn.BatchNorm2d", "torch.nn.modules.batchnorm._BatchNorm") is None


def test_every_name_without_a_row_has_a_reason() -> None:
    from flake8_inplace.torchfacts import coverage

    missing = coverage.without_row()
    assert [name for name, reason in missing.items() if reason is None] == []
    assert set(coverage.REASONS.values()) <= set(missing.values())  # no reason outlives its names


@on_the_pinned_torch
def test_the_page_lists_the_names_without_a_row() -> None:
    from flake8_inplace.torchfacts import coverage

    page = Path(__file__).parents[1] / "docs" / "adding-an-op.md"
    assert coverage.table() in page.read_text(encoding="utf-8")


# -- names of methods


def test_method_words() -> None:
    import pathlib

    only = ops.tensor_only_methods()
    assert only <= ops.tensor_methods()
    assert {"unsqueeze", "detach", "masked_fill", "relu_", "add_", "permute", "softmax", "requires_grad_"} & only >= {
        "unsqueeze",
        "detach",
        "add_",
    }
    for other in (torch.nn.Module, list, dict, str, set, int, pathlib.Path):
        assert not only & set(dir(other)), other
    assert not only & {"to", "shape", "sum", "mean", "size", "split", "name", "data", "item"}
    assert {
        "item",
        "tolist",
        "size",
        "shape",
        "dim",
        "numel",
        "dtype",
        "device",
        "stride",
        "is_contiguous",
    } <= ops.scalar_methods()
    assert not ops.scalar_methods() & {"sum", "values", "T", "clone"}


def test_what_does_not_raise_the_counter() -> None:
    """`torch-facts`: these end in an underscore and leave the version as it was; every other one raises it."""
    quiet = {"apply_", "detach_", "map_", "map2_", "requires_grad_", "share_memory_"}
    assert ops.no_bump_methods() == quiet
    assert not ops.inplace_methods() & quiet
    underscore = {n for n in ops.tensor_methods() if n.endswith("_")}
    sparse = {"resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_"}
    assert underscore - quiet - sparse == ops.inplace_methods()
    x = torch.rand(3)
    for method, args in {"detach_": (), "requires_grad_": (False,), "share_memory_": (), "apply_": (float,)}.items():
        getattr(x, method)(*args)
        assert x._version == 0, method


def test_names_of_one_operator(samples: Any) -> None:
    known = {alias.name: info.name for info in samples.op_db for alias in info.aliases}
    names = {alias: name for alias, name in known.items() if "." not in alias + name}
    for other in ("maximum", "minimum", "adjoint"):  # `max` is a reduction too, `mH` an attribute
        del names[other]
    names |= {"true_divide": "div", "truediv": "div"}  # Python's, with which PyTorch names nothing
    assert {alias: kinds.plain(alias) for alias in names} == names
    assert kinds.plain("multiply_") == "mul_" and kinds.plain("sigmoid_") == "sigmoid_"


# -- what leaves the contents of a tensor unread

OPERANDS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    **dict.fromkeys(("is_same_size", "is_set_to", "result_type", "copy_"), lambda other: (other,)),
    **dict.fromkeys(("new_zeros", "new_ones"), lambda other: ((2, 2),)),
    "new_empty": lambda other: ((0, 2),),
    "new_full": lambda other: ((2, 2), 3.0),
    "new_tensor": lambda other: ([1.0],),
    "full_like": lambda other: (2.0,),
    "randint_like": lambda other: (5,),
    "fill_": lambda other: (2.0,),
    "geometric_": lambda other: (0.5,),
}
"""The arguments of what is not called without any; ``other`` is a tensor of the same shape."""


def filled(seed: int, kind: Any = None) -> Any:
    torch.manual_seed(seed)
    return (torch.randn(4, 4) * 3 + seed).to(kind or torch.float32)


def asked(owner: Any, name: str, *args: Any) -> Any:
    torch.manual_seed(0)
    value = getattr(owner, name)
    return value(*args) if callable(value) and name != "__class__" else value


def is_same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return type(one) is type(other) and bool(one == other)
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


def overwrite(tensor: Any, source: Any) -> None:
    """So that autograd doesn't see it, and the version counter stays."""
    tensor.numpy()[...] = source.numpy()


@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("name", sorted(contents.METADATA | contents.MAKING))
def test_what_asks_for_no_element_of_a_tensor(name: str, kind: str) -> None:
    tensor, other = filled(1, getattr(torch, kind)), filled(2, getattr(torch, kind))
    args = OPERANDS.get(name, lambda other: ())(other)
    before = asked(tensor, name, *args)
    overwrite(tensor, other)
    assert is_same(before, asked(tensor, name, *args))


@pytest.mark.parametrize("name", sorted(contents.REPLACING))
def test_what_replaces_all_elements(name: str) -> None:
    one, other = filled(1), filled(2)
    for tensor in (one, other):
        asked(tensor, name, *OPERANDS.get(name, lambda other: ())(filled(3)))
    assert torch.equal(one, other)


@pytest.mark.parametrize("name", sorted(contents.LIKE))
def test_functions_that_ask_for_no_element(name: str) -> None:
    tensor, other = filled(1), filled(2)
    args = OPERANDS.get(name, lambda other: ())(filled(3))
    if name == "empty_like":
        tensor, other = tensor[:0], other[:0]
    before = asked(torch, name, tensor, *args)
    tensor.copy_(other)
    assert is_same(before, asked(torch, name, tensor, *args))


@pytest.mark.parametrize("name", sorted(contents.AS))
def test_methods_that_ask_for_no_element_of_their_argument(name: str) -> None:
    tensor = filled(1)
    assert is_same(asked(filled(3), name, tensor), asked(filled(3), name, filled(2)))


@pytest.mark.parametrize("name", sorted(contents.OF_ARRAYS))
def test_functions_of_numpy_that_ask_for_no_element(name: str) -> None:
    import numpy

    array, other = filled(1).numpy(), filled(2).numpy()
    if name == "empty_like":
        array, other = array[:0], other[:0]
    args = (2.0,) if name == "full_like" else ()
    before, after = (getattr(numpy, name)(one, *args) for one in (array, other))
    assert numpy.array_equal(before, after)


def test_what_asks_for_all_elements_fails_these_tests() -> None:
    tensor = filled(1)
    before = asked(tensor, "sum")
    overwrite(tensor, filled(2))
    assert not is_same(before, asked(tensor, "sum"))
