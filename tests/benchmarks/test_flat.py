"""Reading a file takes as many calls a line when it is four times as long. Calls are counted: clocks are no judges."""

import cProfile

import pytest
from flat import VARIANTS

from flake8_inplace.analysis import analyze


def calls(source: str) -> float:
    """Calls a line, those of built-in functions included."""
    profile = cProfile.Profile()
    profile.runcall(analyze, source)
    return sum(entry.callcount for entry in profile.getstats()) / source.count("\n")


@pytest.mark.parametrize("variant", VARIANTS)
def test_calls_a_line(variant: str) -> None:
    analyze(VARIANTS[variant](30))  # what is read once, is read
    assert calls(VARIANTS[variant](600)) < 1.25 * calls(VARIANTS[variant](150))


def test_writes_that_take_in_one_another() -> None:
    """What a table was made of is asked of each write once, not once for every way from one to the other."""
    few, many = (
        "import torch\n\ndef fill(w: torch.nn.Parameter, x, kept):\n    t = torch.zeros(9)\n    y = w.sigmoid()\n"
        + "".join(f"    t[{i}] = t[w.dim() - {i}]\n" for i in range(count))
        + "    kept.update({'table': t})\n    y += 1\n    return y\n"
        for count in (4, 16)
    )
    analyze(few)
    assert calls(many) < 2 * calls(few)
