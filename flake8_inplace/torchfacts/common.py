"""What the runs of an operator have in common: its row. Development only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .execution import Run
from .kinds import CONVOLUTIONS
from .learning import Rule, Trial, learn
from .notation import SCALAR, SHAPE, Condition, Op, Out, Save

SURE = 0.65  # of the runs that no option explains: the others have unusual values, such as tensors of size 1


def measured_saves(op: Op, runs: Sequence[Run]) -> tuple[Save, ...]:
    """What the runs saved, which inputs required grad then, and on which options it hangs."""
    scalars = [r for r in runs if r.scalar and (r.changed or "").endswith(SHAPE)]
    runs = usual(op, runs)
    saves: dict[tuple[str, Rule | None], list[str]] = {}
    for slot in sorted({slot for r in runs for slot in r.saved}):
        for p in op.params:
            trials = [
                Trial(r.options, slot in r.saved, r.base, r.changed)
                for r in runs
                if r.requires == p.name and could_save(r, slot)
            ]
            if any(trial.outcome for trial in trials):
                single = [r for r in scalars if r.requires == p.name and could_save(r, slot)]
                rules: list[Rule | None] = [but_scalars(rule, slot, single) for rule in learn(trials, SURE).rules]
                for rule in rules or [None]:
                    saves.setdefault((slot, rule), []).append(p.name)
    return tuple(
        Save(slot, tuple(needs), rule == (), rule or ())
        for (slot, rule), needs in sorted(saves.items(), key=lambda item: (item[0][0], item[0][1] is None))
    )


def but_scalars(rule: Rule, slot: str, scalars: Sequence[Run]) -> Rule:
    """Return a rule with the condition that a call isn't on one number, if no such call saves what the rule says."""
    those = [r for r in scalars if holds(rule, r)]
    if not those or any(slot in r.saved for r in those):
        return rule
    return (*rule, Condition(str(those[0].changed), (SCALAR,), True))


def usual(op: Op, runs: Sequence[Run]) -> list[Run]:
    """The runs that tell something of what is saved: those of the usual form, on tensors that have dimensions."""
    if op.name in CONVOLUTIONS:
        runs = [r for r in runs if r.options.get("padding") != "same"]
    runs = [r for r in runs if not r.empty and not r.scalar] or runs
    found = Counter(form(r) for r in runs if r.changed is None).most_common(1)
    return [r for r in runs if found and form(r) == found[0][0]]


def agree(op: Op, runs: Sequence[Run]) -> bool:
    """Whether the runs save what a row says: for each slot and need, as many of them as make a save sure."""
    runs = usual(op, runs)
    slots = {save.slot for save in op.saves} | {slot for r in runs for slot in r.saved}
    for slot in slots:
        for p in op.params:
            chosen = [r for r in runs if r.requires == p.name and could_save(r, slot)]
            saves = [save for save in op.saves if save.slot == slot and p.name in save.needs]
            if any(not save.sure and not save.when for save in saves):
                continue
            right = sum(any(made(save, r) for save in saves) is (slot in r.saved) for r in chosen)
            if right < SURE * len(chosen):
                return False
    return True


def made(save: Save, run: Run) -> bool:
    """Whether a row says that a run makes a save."""
    return holds(save.when, run)


def holds(rule: Rule, run: Run) -> bool:
    """Whether all conditions of a rule hold for a run."""
    return all(condition.holds(run.options.get(condition.option)) for condition in rule)


def form(run: Run) -> tuple[frozenset[str], int]:
    """What a run overwrote, and how much it returned: with another form, an option makes another operator."""
    return run.written, len(run.outs)


def could_save(run: Run, slot: str) -> bool:
    """Whether a run could save a slot: it has it, and floats come out."""
    outs = [out for out in run.outs if out.kind != "none"]
    floats = not outs or any(not out.integral for out in outs)
    return floats and (slot in run.present or slot.startswith("result"))


def measured_outs(op: Op, runs: Sequence[Run]) -> tuple[Out, ...]:
    """What the outputs of the runs have in common."""
    runs = [r for r in runs if not r.empty and r.changed is None] or runs
    width = Counter(len(r.outs) for r in runs).most_common(1)[0][0]
    columns = list(zip(*(r.outs for r in runs if len(r.outs) == width), strict=True))
    if len(columns) == 1 and all(out.kind == "none" for out in columns[0]):
        return ()
    return tuple(common_out(op, column) for column in columns)


RARE = 0.1
"""So small a share of the runs that return an argument itself has unusual values, such as no dimension to reduce."""


def common_out(op: Op, seen: Sequence[Out]) -> Out:
    kinds = {out.kind for out in seen} - {"none"} or {"fresh"}
    if kinds == {"fresh", "same"} and sum(out.kind == "same" for out in seen) <= RARE * len(seen):
        kinds = {"fresh"}
    kind = kinds.pop() if len(kinds) == 1 else "expand" if kinds == {"view", "expand"} else "maybe"
    of = None if kind == "fresh" else next(out.of for out in seen if out.of is not None)
    grad = any(out.differentiable for out in seen)
    many = any(out.many for out in seen)
    return Out(kind, of, grad, many, not grad and all(out.integral for out in seen))


def keeps_shape(runs: Sequence[Run]) -> bool:
    """Whether the results of all runs have the shape of their arguments, of which there are several.

    Square matrices don't tell: their product has their shape as well.
    """
    shapes = {r.shape for r in runs if not r.empty}
    telling = any(shape and (len(shape) == 1 or shape[-1] != shape[-2]) for shape in shapes)
    return None not in shapes and len(shapes) > 1 and telling


def reduces(runs: Sequence[Run]) -> bool:
    """Whether all runs on nothing but tensors return one number, also those on batches of matrices."""
    plain = [r for r in runs if not r.options]
    return any(r.dims > 2 for r in plain) and all(r.single for r in plain)
