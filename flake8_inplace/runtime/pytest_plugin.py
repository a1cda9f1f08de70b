"""`pytest --inplace`: every test under the sanitizer. PyTorch is imported only where the option is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_watched = pytest.StashKey[tuple[Any, list[Any]]]()
"""The report of a test, and the hazards in it that the test has failed for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("inplace", "in-place hazards of PyTorch's autograd")
    group.addoption("--inplace", action="store_true", help="fail tests in which backward needs an overwritten tensor")
    group.addoption(
        "--inplace-fingerprint",
        action="store_true",
        help="with --inplace: compare contents too, which finds .data, numpy and fused optimizers",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "inplace(allow=True): this test may overwrite what autograd saved (with --inplace)"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run a test with its setup and teardown under one sanitizer: what one phase saves, another may overwrite."""
    marker = item.get_closest_marker("inplace")
    if not item.config.getoption("--inplace") or (marker is not None and marker.kwargs.get("allow", False)):
        yield
        return
    from .sanitizer import inplace_sanitizer

    with inplace_sanitizer("record", fingerprint=item.config.getoption("--inplace-fingerprint")) as report:
        item.stash[_watched] = report, []
        yield


def _fail_for_hazards(item: pytest.Item) -> Iterator[None]:
    """Fail a phase of a test for the hazards that a backward pass ran into in it, caught or not."""
    outcome = yield
    if _watched not in item.stash:
        return
    report, told = item.stash[_watched]
    new = [hazard for hazard in report.reached if not any(hazard.same_lines(other) for other in told)]
    told += new
    if new:
        failed = pytest.fail.Exception("\n\n".join(map(str, new)), pytrace=False)
        outcome.force_exception(failed)  # type: ignore[attr-defined]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    yield from _fail_for_hazards(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield from _fail_for_hazards(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield from _fail_for_hazards(item)
