"""See in-place hazards while a program runs, and confirm what the linter said.

    from flake8_inplace.runtime import inplace_sanitizer

    with inplace_sanitizer() as report:
        train_one_step()

With ``FLAKE8_INPLACE_SANITIZER=raise`` (or ``warn``, ``record``) in the environment, importing this package enables the
sanitizer for the rest of the program; the report is printed at its end unless the mode is ``raise``.
PyTorch is imported when one of the names below is used.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .report import Hazard, InplaceHazardError, InplaceHazardWarning, Report, StaleRead, Write
    from .sanitizer import disable, enable, inplace_sanitizer

__all__ = [
    "Hazard",
    "InplaceHazardError",
    "InplaceHazardWarning",
    "Report",
    "StaleRead",
    "Write",
    "disable",
    "enable",
    "inplace_sanitizer",
]

VARIABLE = "FLAKE8_INPLACE_SANITIZER"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import report, sanitizer

    return getattr(sanitizer if hasattr(sanitizer, name) else report, name)


def _enable_for_the_program(mode: str) -> None:
    from . import sanitizer

    sanitizer.enable(mode)  # type: ignore[arg-type]

    def finish() -> None:
        report = sanitizer.disable()
        if report is not None and mode != "raise" and report.hazards:
            print(report, file=sys.stderr)

    atexit.register(finish)


if os.environ.get(VARIABLE):
    _enable_for_the_program(os.environ[VARIABLE])
