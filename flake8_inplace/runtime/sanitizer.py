"""Watches a program while it runs: what autograd saves, what is overwritten, and what a backward pass then asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from .ledger import Ledger, Mode
from .patches import patched
from .report import Report
from .watch import watching

_enabled: ExitStack | None = None
_enabled_report: Report | None = None


@contextmanager
def inplace_sanitizer(
    mode: Mode = "raise", *, fingerprint: bool = False, stale_reads: bool = False
) -> Iterator[Report]:
    """Watch the block for tensors that autograd needs and that something overwrites; yields the `Report`.

    Where PyTorch would have raised at ``backward()``, `InplaceHazardError` comes instead, a RuntimeError that names
    both lines, in every mode. ``mode`` decides what else happens: "raise" raises for what only this sanitizer notices
    too, "warn" warns of each hazard (`InplaceHazardWarning`), "record" fills the report.

    ``fingerprint`` compares the contents of saved tensors besides their versions. That finds writes which PyTorch does
    not count (``.data``, numpy, fused optimizers, kernels of one's own), for a pass over every saved tensor when it is
    saved and when it is used. ``stale_reads`` looks for values that change under a name that still reads them, which
    autograd has nothing to do with; they come into ``report.stale``, with a warning unless the mode is "record".

    Threads started inside the block are watched too. Raises ValueError for another mode.
    """
    ledger = Ledger(mode, fingerprint, stale_reads)
    with patched(), watching(ledger):
        try:
            yield ledger.report
        finally:
            ledger.close()


def enable(mode: Mode = "raise", *, fingerprint: bool = False, stale_reads: bool = False) -> Report:
    """Watch from here on, as `inplace_sanitizer` does, until `disable`. Raises RuntimeError where it is on already."""
    global _enabled, _enabled_report
    if _enabled is not None:
        raise RuntimeError("the in-place sanitizer is enabled already")
    with ExitStack() as stack:
        _enabled_report = stack.enter_context(inplace_sanitizer(mode, fingerprint=fingerprint, stale_reads=stale_reads))
        _enabled = stack.pop_all()
    return _enabled_report


def disable() -> Report | None:
    """End what `enable` began; the report, or None where nothing was enabled. To be called in the same thread."""
    global _enabled, _enabled_report
    stack, report = _enabled, _enabled_report
    _enabled = _enabled_report = None
    if stack is not None:
        stack.close()
    return report
