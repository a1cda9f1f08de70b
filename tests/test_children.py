"""What dies of one piece of work leaves the others' results alone."""

import os
import signal
from collections.abc import Sequence

import pytest

children = pytest.importorskip("flake8_inplace.runtime.children", reason="its package is imported with PyTorch")


def work(group: Sequence[str]) -> list[str]:
    if "kills" in group:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "ends" in group:
        os._exit(3)
    return [f"{name} done" for name in group]


def found(pieces: Sequence[str]) -> list[str]:
    return list(children.in_children(pieces, work, lambda name, why: f"{name}: {why}"))


def test_all_that_do_not_die() -> None:
    names = [f"n{number}" for number in range(3 * children.GROUP)]
    assert found(names) == [f"{name} done" for name in names]


@pytest.mark.parametrize(
    ("name", "why"), [("kills", "the process died of SIGSEGV"), ("ends", "the process ended with 3")]
)
def test_the_one_that_does(name: str, why: str) -> None:
    names = [f"n{number}" for number in range(20)]
    names[13] = name
    expected = [f"{each} done" for each in names]
    expected[13] = f"{name}: {why}"
    assert found(names) == expected


def test_nothing() -> None:
    assert found([]) == []
