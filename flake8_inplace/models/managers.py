"""Entering a context manager: of torch's, which switch a mode, and of the program's own."""

from __future__ import annotations

from typing import Any

from ..heap.values import Value
from ..program.site import Site
from ..trace.callables import Autocast, Caching, GradMode, Packing
from ..trace.trace import Trace
from . import amp, classes

SWITCHES = (GradMode, Packing, Autocast, Caching)
"""Context managers that do nothing about exceptions."""
_MODES = ("grad", "expecting", "inference", "packing", "autocast", "caching")
Modes = tuple[tuple[str, Any], ...]
"""The modes that are as before when a context manager is left, by name: see `State`."""


def modes_before(m: Trace) -> Modes:
    return tuple((name, m.state.modes.get(name)) for name in _MODES)


def restore(m: Trace, before: Modes) -> None:
    """Put the modes back when a context manager is left."""
    for name, was in before:
        if m.state.modes.get(name) is not was:
            m.state.set(m.state.modes, name, True if name == "grad" and was is None else was)


def enter(m: Trace, manager: Value, site: Site) -> Value:
    """Switch what a context manager switches, and return what ``as`` binds."""
    modes = m.state.modes
    m.state.set(modes, "expecting", modes.get("expecting") or not isinstance(manager, SWITCHES))
    if isinstance(manager, GradMode):
        m.state.set(modes, "grad", manager.on)
        if manager.inference is not None:
            m.state.set(modes, "inference", manager.inference)
    amp.switch(m, manager)
    if isinstance(manager, Packing):
        m.state.set(modes, "packing", "share" if manager.shares else "copy")
    if isinstance(manager, Caching) and modes.get("caching") is None:
        m.state.set(modes, "caching", m.tick())
    entered = classes.special(m, manager, "__enter__", [], site)
    return manager if entered is None else entered
