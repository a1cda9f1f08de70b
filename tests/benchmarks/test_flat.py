"""Reading a file takes as many calls a line when it is four times as long. Calls are counted: clocks are no judges."""

import cProfile

import pytest
from flat import VARIANTS

from flake8_inplace.analysis import analyze

#: Variants whose cost grows faster than their length, and why. One that is mended must leave.
KNOWN_LIMITS = {
    "branches": "what holds on a path is listed, and copied, once a branch",
    "returns": "at each return, all that the function has changed is listed",
}


def calls(source: str) -> float:
    """Calls a line, those of built-in functions included."""
    profile = cProfile.Profile()
    profile.runcall(analyze, source)
    return sum(entry.callcount for entry in profile.getstats()) / source.count("\n")


@pytest.mark.parametrize(
    "variant",
    [pytest.param(n, marks=[pytest.mark.xfail(reason=KNOWN_LIMITS[n])] if n in KNOWN_LIMITS else []) for n in VARIANTS],
)
def test_calls_a_line(variant: str) -> None:
    analyze(VARIANTS[variant](30))  # what is read once, is read
    assert calls(VARIANTS[variant](600)) < 1.25 * calls(VARIANTS[variant](150))
