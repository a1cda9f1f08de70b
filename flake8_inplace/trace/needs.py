"""What a hazard needs besides a backward: arms of conditions, arguments that require grad, a device."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.values import Guard, Saved, Tensor, Unknown, Value
from ..program.site import Site
from .reports import Need
from .trace import Trace

DEPTH = 12
"""The most operators that lie between a tensor and the argument that it is named by."""


def note_test(m: Trace, site: Site, guards: tuple[Guard, Guard], refused: tuple[bool, bool] = (False, False)) -> None:
    """Note where the program tests a symbol: ``guards`` are those of the true and the false arm.

    An arm that is ``refused`` raises, so that the other one is what every run takes.
    """
    tests = m.reports.tests
    for truth, guard in zip((True, False), guards, strict=True):
        granted = refused[truth]  # the other arm: that of True is first, and False is 0
        for item in guard:
            tests.setdefault(item, None if granted else Need("where" if truth else "unless", site))


def note_option(m: Trace, option: Unknown) -> None:
    """Note the parameter that a path takes for on, though it is off by its default."""
    if option in m.reports.given:
        m.reports.tests.setdefault((option, True), Need("where", m.reports.given[option]))


def of_save(m: Trace, saved: Saved, silent: bool) -> tuple[Need, ...]:
    """Return what must hold for a tensor to be saved, its path apart; if ``silent``, for its values to be used."""
    found = [Need(f"device {saved.device}")] if saved.device else []
    if saved.possible:
        found.append(Need("possible"))
    asking = saved.used if silent and saved.used is not None else saved.asking
    if asking:
        places = dict.fromkeys(_sources(m, asking))
        found.append(Need("grad", next(iter(places), None)))
    if saved in m.reports.cast:
        found.append(Need("same", m.reports.cast[saved]))
    return tuple(found)


def _sources(m: Trace, tensors: Iterable[Tensor]) -> Iterable[Site]:
    """Yield the places of the tensors that others were computed from, as far as that is known."""
    given = {tensor: m.reports.given.get(value) for value, tensor in m.tensors.items()}
    level = list(tensors)
    for _ in range(DEPTH):
        inner: list[Value] = []
        for tensor in level:
            if tensor.region is not None:
                inner.append(tensor.region.base)
            elif tensor.made is not None:
                inner += tensor.made.values
            elif tensor.cell.initial.grad and (place := tensor.place or given.get(tensor)) is not None:
                yield place
        level = list(dict.fromkeys(value for value in inner if isinstance(value, Tensor)))
