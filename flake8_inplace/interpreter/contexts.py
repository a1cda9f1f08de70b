"""``with``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from ..heap.values import NONE, Object, Value
from ..models import calls, classes, handed, lazy, managers
from ..trace.callables import Managed, Method
from ..trace.frames import Frame
from ..trace.trace import Trace
from .binding import bind
from .dispatch import evaluate, runs, site_of, suite
from .functions import run


@runs(cst.With)
def _with(m: Trace, node: cst.With, frame: Frame) -> bool:
    return _enter(m, list(node.items), node.body, frame)


def _enter(m: Trace, items: list[cst.WithItem], body: cst.BaseSuite, frame: Frame) -> bool:
    """Enter the context managers in order, run the body, and leave them. Return whether control reaches the end."""
    if not items:
        return suite(m, body, frame)
    before = managers.modes_before(m)
    value = m.see(evaluate(m, items[0].item, frame))
    if isinstance(value, Managed):
        return _managed(m, value, items, body, frame)
    site = site_of(items[0].item, frame)
    entered = managers.enter(m, value, site)
    if items[0].asname is not None:
        bind(m, items[0].asname.name, entered, frame)
    alive = _enter(m, items[1:], body, frame)
    if alive:
        classes.special(m, value, "__exit__", [NONE, NONE, NONE], site)
        if isinstance(value, Object) and value.cls == handed.STACK:
            calls.call_method(m, Method(value, "__exit__", items[0].item), [], {}, site)
    managers.restore(m, before)
    return alive


def _managed(m: Trace, value: Managed, items: list[cst.WithItem], body: cst.BaseSuite, frame: Frame) -> bool:
    """Run the body of a ``with`` where a function under ``contextlib.contextmanager`` yields."""
    site = site_of(items[0].item, frame)
    came: list[bool] = []

    def body_of(resume: Callable[[Value], None], once: bool) -> Value:
        return run(m, replace(value.function, managed=False, resume=resume, once=once), value.args, value.kwargs, site)

    def inside(yielded: Value, _: bool) -> None:
        if came:
            return
        if items[0].asname is not None:
            bind(m, items[0].asname.name, yielded, frame)
        came.append(_enter(m, items[1:], body, frame))

    lazy.drive(m, value, body_of, inside)
    return came[0] if came else _enter(m, items[1:], body, frame)
