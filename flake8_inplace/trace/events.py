"""What happens while a program is read, and who listens.

The interpreter and the models emit events: ``events.write(m, tensor, "op_", site)``. A checker listens by decorating a
function: ``@events.write.listen``. Neither knows the other. Reading a tensor for its shape only is no read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Generic, ParamSpec

from .trace import Trace

P = ParamSpec("P")


class Event(Generic[P]):
    """One kind of event. Calling it tells all listeners, in the order in which they were registered."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: list[Callable[Concatenate[Trace, P], None]] = []

    def __call__(self, m: Trace, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self.listeners:
            listener(m, *args, **kwargs)

    def listen(self, listener: Callable[Concatenate[Trace, P], None]) -> Callable[Concatenate[Trace, P], None]:
        """Register a listener; a decorator."""
        self.listeners.append(listener)
        return listener
