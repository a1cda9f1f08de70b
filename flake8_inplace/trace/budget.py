"""How much work one file and one entry point may take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

SECONDS = 20
"""Processor time after which the rest of a file is skipped."""
FILE_STATEMENTS = 300_000
"""The most statements that are read for one file."""
ENTRY_STATEMENTS = 6000
"""Statements read for one entry point, including those of calls and iterations. Beyond it, calls are not followed."""


class Exhausted(Exception):
    """The file needs more work than a linter should spend on it."""


@dataclass(slots=True, eq=False)
class Budget:
    """The work done for a file. Reading the processor time is a system call, so the wall clock is checked first."""

    alarm: float = field(default_factory=lambda: time.perf_counter() + SECONDS)
    deadline: float = field(default_factory=lambda: time.thread_time() + SECONDS)
    statements: int = 0
    calls: int = 0
    entry_statements: int = 0
    recursive: int = 0  # recursive calls in this entry point

    def statement(self) -> None:
        """Count a statement. Raise Exhausted if the file is over its budget."""
        self.statements += 1
        self.entry_statements += 1
        if self.statements % 16 == 0:
            self._check()

    def call(self) -> None:
        """Count a call. Raise Exhausted if the file is over its budget."""
        self.calls += 1
        if self.calls % 64 == 0:
            self._check()

    def fresh_entry(self) -> None:
        self.entry_statements = self.recursive = 0

    def _check(self) -> None:
        late = time.perf_counter() > self.alarm and time.thread_time() > self.deadline
        if late or self.statements > FILE_STATEMENTS:
            raise Exhausted
