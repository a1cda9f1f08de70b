"""`pytest --inplace`, run on test files of its own."""

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
import torch


def overwrite():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def test_clean():
    torch.ones(3, requires_grad=True).exp().sum().backward()


def test_raises():
    overwrite()


def test_expects_it():
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        overwrite()


@pytest.mark.inplace(allow=True)
def test_allowed():
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        overwrite()


def test_never_reached():
    torch.ones(3, requires_grad=True).exp().add_(1)


def test_silent():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.data.add_(1)
    y.sum().backward()
"""
PLUGIN = "flake8_inplace.runtime.pytest_plugin"


@pytest.fixture
def run(pytester: pytest.Pytester, pytestconfig: pytest.Config):  # type: ignore[no-untyped-def]
    """Runs the tests above in a process of their own; the plugin is named where no installed package brings it."""
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\naddopts = --strict-markers")
    named = [] if pytestconfig.pluginmanager.has_plugin("inplace") else ["-p", PLUGIN]
    return lambda *options: pytester.runpytest_subprocess(*named, *options)


def test_off_by_default(run) -> None:  # type: ignore[no-untyped-def]
    run().assert_outcomes(passed=5, failed=1)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_hazards_fail_their_tests(run, workers: list[str]) -> None:  # type: ignore[no-untyped-def]
    result = run("--inplace", *workers)
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines_random(
        ["FAILED *::test_raises*", "FAILED *::test_expects_it*", "      y = x.exp()", "      y.add_(1)"]
    )


def test_fingerprint(run) -> None:  # type: ignore[no-untyped-def]
    result = run("--inplace", "--inplace-fingerprint")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["      y.data.add_(1)"])


def test_torch_is_not_imported_without_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\n\n\ndef test_it():\n    assert 'torch' not in sys.modules\n")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


PHASES = """
import pytest
import torch


@pytest.fixture
def left_over():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    yield y
    with pytest.raises(RuntimeError):
        y.sum().backward()


@pytest.fixture
def broken():
    y = torch.ones(3, requires_grad=True).exp()
    y.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_teardown(left_over):
    left_over.add_(1)


def test_setup(broken):
    pass
"""


def test_setup_and_teardown_are_watched(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    pytester.makepyfile(PHASES)
    result = run("--inplace", "-k", "teardown or setup")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*in test_teardown*", "*left_over.add_(1)*"])
