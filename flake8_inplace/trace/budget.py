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
LATE = 100_000
"""Statements of a file after which an entry point may read `LATE_STATEMENTS` only: the others get their turn."""
LATE_STATEMENTS = 1000
BORROWED_STATEMENTS = 200
"""Statements of a file that are read from entry points that matter only for what other files may overwrite."""
OTHER_STATEMENTS = 500
"""Statements of other files, and of what they call, that are read for one file. Beyond it, they are unknown code."""
OTHER_ENTRY_STATEMENTS = 250
"""Of those, for one entry point."""


class Exhausted(Exception):
    """The file needs more work than a linter should spend on it."""


class Cancelled(BaseException):
    """Nobody waits for the analysis any more. No handler of errors is meant for it."""


class Waiting:
    """Whether anybody waits for the analysis. An editor whose text has changed does not."""

    @staticmethod
    def over() -> bool:
        """Return whether to give up. A server replaces this."""
        return False


@dataclass(slots=True, eq=False)
class Budget:
    """The work done for a file. Reading the processor time is a system call, so the wall clock is checked first."""

    alarm: float = field(default_factory=lambda: time.perf_counter() + SECONDS)
    deadline: float = field(default_factory=lambda: time.thread_time() + SECONDS)
    statements: int = 0
    calls: int = 0
    entry_statements: int = 0
    recursive: int = 0  # recursive calls in this entry point
    borrowed: int = 0  # statements read from entry points that matter only for what other files may overwrite
    other: int = 0  # statements of other files
    other_entry: int = 0  # of those, in this entry point
    other_calls: int = 0  # calls into other files that are running
    other_began: int = 0  # the number of statements when the first of them began

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
        self.entry_statements = self.recursive = self.other_entry = 0

    def is_entry_over(self) -> bool:
        """Whether the entry point has read what it may of its own file."""
        allowed = ENTRY_STATEMENTS if self.statements < LATE else LATE_STATEMENTS
        return self.entry_statements - self.other_entry > allowed

    def enter_other_file(self) -> bool:
        """Count a call of a function of another file. False if it is not to be followed; else `leave_other_file`."""
        running = self.statements - self.other_began if self.other_calls else 0
        if self.other + running > OTHER_STATEMENTS or self.other_entry + running > OTHER_ENTRY_STATEMENTS:
            return False
        if not self.other_calls:
            self.other_began = self.statements
        self.other_calls += 1
        return True

    def enter_own_file(self) -> int:
        """Count what follows as statements of the file itself. Give what this returns to `leave_own_file`."""
        running, self.other_calls = self.other_calls, 0
        self._count_other(running)
        return running

    def leave_own_file(self, running: int) -> None:
        """Go on counting statements of other files, if calls into them are running."""
        self.other_calls, self.other_began = running, self.statements

    def leave_other_file(self) -> None:
        """Count what the call has cost."""
        self.other_calls -= 1
        self._count_other(not self.other_calls)

    def _count_other(self, running: int) -> None:
        if running:
            self.other += self.statements - self.other_began
            self.other_entry += self.statements - self.other_began

    def _check(self) -> None:
        late = time.perf_counter() > self.alarm and time.thread_time() > self.deadline
        if late or self.statements > FILE_STATEMENTS:
            raise Exhausted
        if Waiting.over():
            raise Cancelled
