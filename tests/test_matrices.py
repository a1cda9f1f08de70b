"""Each way to keep a value with each way to change it and to read it: see `generated.matrices`.

`python -m tests.generated.matrices` tries all programs, and here a sample of each matrix has to be right.
"""

from __future__ import annotations

import pytest
from generated.matrices import Matrix, Program, matrices, tally

SAMPLE = 24
REASONS = {
    "torch.add(bufs[i], i + 1, out=bufs[i])": "what is written to an output argument may be meant for all that have it",
    "x.data.mul_(scale)": "a write through `.data` of what a container holds may be meant for the container",
    "x = x.__isub__(1)": "nobody calls the special methods of operators by name",
    "x[0] = x[0] + 5.0": "an element of a row of an array is a number, and the new one is not computed from the row",
    "reduce(": "what `functools.reduce` is given has no name for the first element",
    "max(source": "one element of all is kept, which may be the last",
    "last = x": "a name for the tensor that a loop changes may be meant to change with it",
    "p.sub_(p.grad": "a state that an optimizer reads and binds anew in the same step is judged by its read alone",
    '"buf" in state': "a buffer that is the gradient in the first step only is one of several values",
    "buf is None": "a buffer that is the gradient in the first step only is one of several values",
    "ema[n].lerp_": "a mean of a parameter with itself is the parameter, whatever it was to be",
    "old = x.data": "part of what `.data` shows was written by a name for the base",
    "torch.add(x, step, out=x)": "an output argument is no write by a name",
    "torch.sub(x, 0.5, out=x)": "an output argument is no write by a name",
    "x[t % 3]": "whether an element lies in a view is not known",
    "x.view(-1)[1:]": "what two different views share is not known",
    "a.flat[0]": "whether an element lies in a view is not known",
    "a[a > 0.4]": "which elements a mask takes is not known",
    "v = a[1:]": "a part of an argument was written, and sums of both are read",
    "self.h[:] = new": "a view of all and a write to all by an index are not taken for the same part",
    "zero_grad(set_to_none=False)": "a name for a gradient may be meant to show the gradient at all times",
    "model(x).pow(2).sum().backward()": "a name for a gradient may be meant to show the gradient at all times",
    "torch._foreach_mul_": "the lists of gradients that such a call is given are not taken apart",
    "w.grad.view(-1)": "a view of the whole gradient may be meant as one",
    "t.__iadd__(1)": "nobody calls the special methods of operators by name",
    "operator.setitem(t": "nobody calls the special methods of operators by name",
    'type("': "a class that `type` makes is unknown",
    "len(Item(y))": "a length, a truth value or a test for membership overwrites nothing",
    "3 in Item(y)": "a length, a truth value or a test for membership overwrites nothing",
    "bool(Item(y))": "a length, a truth value or a test for membership overwrites nothing",
    "if Item(y)": "a length, a truth value or a test for membership overwrites nothing",
    "del s[0]": "what removes an element overwrites nothing",
    '{source2}.to("cpu")': "a part that may have been converted may be a copy",
    "{source2}.float()": "a part that may have been converted may be a copy",
    "{source2}.detach().cpu()": "a part that may have been converted may be a copy",
    'setattr(ns, f"x{t}"': "an attribute whose name is computed is unknown",
    "old = same({source2})": "what a function returns may be meant as another name for its argument",
    "=> lin.weight.data": "each `.data` is a tensor of its own, which no container is known to have",
    "old2 = {keep2}": "a variable does not say since when the container had what it took out",
    "s = slice(0, 1)": "whether an element lies in a view is not known",
    "p.detach().numpy()": "a tensor over an array over a parameter is not known to be the parameter",
    'delta(**{"new"': "what is given by two stars is not told apart",
    "list(map(delta": "the pairs that a function is mapped over may have equal ones among them",
    "of_lists([x]": "who goes over pairs comes to the pairs of equals, too",
    "max(delta(a, b)": "who goes over pairs comes to the pairs of equals, too",
    "other = fresh(state)": "a state by itself may be meant as the present one, as an actor gets it",
    "other.load_state_dict(state)": "a state by itself may be meant as the present one, as an actor gets it",
    "named(model": "a copy that is made when the values are put back is not followed back to what was kept",
    'model.weight.data = state["weight"].clone()': "a copy made when the values are put back is not followed back",
    "old = ⟨copy.copy|copy.deepcopy⟩(model)": "a shallow copy of a module may be a second form of it",
    "m.apply(lambda": "what `Module.apply` is given concerns the modules, and is read for what it does to them",
}
"""Why programs with an alternative are missed. Not all of them are."""


@pytest.mark.parametrize("matrix", matrices(), ids=lambda matrix: matrix.name)
def test_hazards_are_reported_and_their_twins_are_not(matrix: Matrix) -> None:
    found = tally(matrix.sample(SAMPLE, "1"))
    assert not found.false, found.false[0].twin
    missed = [program for program in found.missed if not _reason(program)]
    assert not missed, missed[0].hazard
    assert found.reported


def _reason(program: Program) -> str:
    return next((why for part, why in REASONS.items() if any(part in label for label in program.labels)), "")


def test_each_reason_has_a_program() -> None:
    labels = {label for matrix in matrices() for gap in matrix.gaps.values() for label in gap}
    assert [part for part in REASONS if not any(part in label for label in labels)] == []
