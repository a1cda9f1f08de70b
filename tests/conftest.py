"""`--device`: where the programs of the documentation run; and which build is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flake8_inplace.heap import state

if TYPE_CHECKING:
    import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="run the programs of the documentation on it: cpu, cuda, ...")


def pytest_report_header() -> str:
    return f"flake8-inplace: {state.__file__}"


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> torch.device:
    """The device that was asked for; what needs it is skipped where there is none."""
    from flake8_inplace.runtime.device import DeviceMissing, device_of

    try:
        return device_of(request.config.getoption("--device"))
    except DeviceMissing as error:
        pytest.skip(str(error))
