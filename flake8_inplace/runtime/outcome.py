"""What a run says about the findings of the linter, in one or several processes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

CONFIRMED, REFUTED, NOT_REACHED, UNSEEN = "confirmed", "refuted", "not reached", "cannot be seen"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the run says about one finding; ``ranks`` are the processes of a distributed run that say so."""

    file: str
    line: int
    column: int
    code: str
    message: str
    status: str
    why: str
    ranks: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.status}{_on(self.ranks)}: {self.why}"


@dataclass(frozen=True, slots=True)
class Surprise:
    """What ran wrong at lines that no finding names."""

    text: str
    ranks: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.text}{_on(self.ranks)}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that one run, or all processes of it, showed."""

    files: int
    backward_passes: int
    verdicts: tuple[Verdict, ...]
    surprises: tuple[Surprise, ...]
    notes: tuple[str, ...]
    exit_status: int = 0  # of the program
    stale: tuple[Surprise, ...] = ()
    """Reads of values that had changed, at lines that no finding names. They may be meant, and count for nothing."""

    @property
    def clean(self) -> bool:
        """Whether nothing is confirmed and nothing ran wrong."""
        return not self.surprises and all(verdict.status != CONFIRMED for verdict in self.verdicts)

    def __str__(self) -> str:
        parts = [str(verdict) for verdict in self.verdicts]
        if self.surprises:
            parts.append("ran wrong without a finding:")
            parts += ["  " + str(surprise).replace("\n", "\n  ") for surprise in self.surprises]
        if self.stale:
            parts.append("values that had changed when they were read, which may be meant:")
            parts += ["  " + str(read).replace("\n", "\n  ") for read in self.stale]
        parts += [f"note: {note}" for note in self.notes]
        counted = Counter(verdict.status for verdict in self.verdicts)
        statuses = ", ".join(f"{counted[status]} {status}" for status in (CONFIRMED, REFUTED, NOT_REACHED))
        unseen = f", {counted[UNSEEN]} that a run cannot show" if counted[UNSEEN] else ""
        parts.append(
            f"{number_of(len(self.verdicts), 'finding')} in {number_of(self.files, 'file')}: {statuses}{unseen}; "
            f"{len(self.surprises)} without a finding; {number_of(self.backward_passes, 'backward pass', 'es')}"
        )
        return "\n".join(parts)


def merged(outcomes: dict[int, Outcome]) -> Outcome:
    """One outcome for these ranks: the gravest status of each finding, with the ranks that saw it."""
    order = [CONFIRMED, REFUTED, UNSEEN, NOT_REACHED]
    verdicts: dict[tuple[str, int, int, str], Verdict] = {}
    surprises: dict[str, tuple[int, ...]] = {}
    stale: dict[str, tuple[int, ...]] = {}
    for rank, outcome in outcomes.items():
        for verdict in outcome.verdicts:
            key = (verdict.file, verdict.line, verdict.column, verdict.code)
            known = verdicts.get(key)
            if known is None or order.index(verdict.status) < order.index(known.status):
                verdicts[key] = replace(verdict, ranks=(rank,))
            elif verdict.status == known.status:
                verdicts[key] = replace(known, ranks=(*known.ranks, rank))
        for surprise in outcome.surprises:
            surprises[surprise.text] = (*surprises.get(surprise.text, ()), rank)
        for read in outcome.stale:
            stale[read.text] = (*stale.get(read.text, ()), rank)
    return Outcome(
        max(outcome.files for outcome in outcomes.values()),
        sum(outcome.backward_passes for outcome in outcomes.values()),
        tuple(verdicts[key] for key in sorted(verdicts)),
        tuple(Surprise(text, ranks) for text, ranks in surprises.items()),
        tuple(sorted({note for outcome in outcomes.values() for note in outcome.notes})),
        max(outcome.exit_status for outcome in outcomes.values()),
        tuple(Surprise(text, ranks) for text, ranks in stale.items()),
    )


def number_of(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def _on(ranks: tuple[int, ...]) -> str:
    return f" on rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}" if ranks else ""
