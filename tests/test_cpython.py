"""What the analysis asks of CPython."""

import subprocess
import sys

import pytest

from flake8_inplace.cpython import with_room

LOOPS = """
import resource
from flake8_inplace.cpython import with_room

def deep(depth):
    if depth:
        deep(depth - 1)
    else:
        for _ in range(3000):
            leaf()

def leaf():
    pass

def loops():
    for depth in range(300):
        deep(depth)

before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
{call}
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(call: str) -> int:
    done = subprocess.run([sys.executable, "-c", LOOPS.format(call=call)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames lie in chunks since Python 3.11")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts the page faults that are meant")
def test_a_loop_at_any_depth_asks_the_system_for_no_memory() -> None:
    """Without the room, some depth lies at the end of a chunk, and each call there asks for a new one."""
    assert faults("with_room(loops)") < 1000 < faults("loops()")


def test_what_a_function_returns_and_raises_comes_through() -> None:
    assert with_room(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        with_room(divmod, 7, 0)
