"""`pytest --inplace`: every test under the sanitizer. PyTorch is imported only where the option is given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


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
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test under the sanitizer; fail it for the hazards that a backward pass ran into, caught or not."""
    marker = item.get_closest_marker("inplace")
    if not item.config.getoption("--inplace") or (marker is not None and marker.kwargs.get("allow", False)):
        yield
        return
    from .sanitizer import inplace_sanitizer

    with inplace_sanitizer("record", fingerprint=item.config.getoption("--inplace-fingerprint")) as report:
        outcome = yield
    if report.reached:
        failed = pytest.fail.Exception("\n\n".join(map(str, report.reached)), pytrace=False)
        outcome.force_exception(failed)  # type: ignore[attr-defined]
