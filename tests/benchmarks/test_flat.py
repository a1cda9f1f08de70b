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
