"""On which options a fact hangs, learnt from calls that differ in one option at a time. Development only.

Most samples of an operator change several things at once, and tell nothing of the reason for what they show. A *trial*
that repeats another one with a single option changed does: if the outcome changes as well, it hangs on that option.
Only such options become conditions. What the others leave unexplained depends on shapes and values, and is no rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .notation import ANY_INT, MORE, Condition
from .variations import NUMBERS

Rule = tuple[Condition, ...]
"""Conditions of which all have to hold."""
Key = tuple[bool, Any]
"""A value of an option, where True is not 1."""


@dataclass(frozen=True)
class Trial:
    """What one call showed: the values of its options, and which call it repeats with which option changed."""

    options: Mapping[str, Any]
    outcome: bool
    base: int  # a number for all trials that repeat the same call
    changed: str | None = None

    def key(self, option: str) -> Key:
        value = self.options.get(option)
        return (isinstance(value, bool), value)


@dataclass(frozen=True)
class Split:
    """Values of an option that all have one outcome."""

    option: str
    values: frozenset[Key]
    outcome: bool
    others: frozenset[Key] = frozenset()  # values that have another outcome, or both


@dataclass(frozen=True)
class Learnt:
    """The rules that lead to an outcome, and the share of the rest that has it; None if nothing is left."""

    rules: tuple[Rule, ...]
    rest: Rule  # holds for what no rule speaks of
    share: float | None


DEPTH = 4
"""The most options that one rule combines."""


def learn(trials: Sequence[Trial], sure: float) -> Learnt:
    """Find the conditions under which the outcome is True. A rest is sure if so large a share of it agrees."""
    known: dict[str, Counter[Key]] = {
        option: Counter(trial.key(option) for trial in trials) for option in hinges(trials)
    }
    rest = list(trials)
    rules: list[Rule] = []
    excluded: list[Condition] = []
    for _ in range(DEPTH):
        share = sum(trial.outcome for trial in rest) / len(rest) if rest else 1.0
        if share in (0.0, 1.0):
            break
        split = best_split(rest, known)
        if split is None:
            break
        condition = condition_of(split, frozenset(known[split.option]))
        assert condition is not None  # `most_telling` asks for no other
        if split.outcome:
            rules.append((*excluded, condition))
        else:
            excluded.append(negated(condition))
        rest = [trial for trial in rest if trial.key(split.option) not in split.values]
    if not rest:
        return Learnt(tuple(map(merged, rules)), (), None)
    share = sum(trial.outcome for trial in rest) / len(rest)
    if share >= sure:
        rules += split_rest(rest, known, tuple(excluded), sure)
    return Learnt(tuple(map(merged, rules)), tuple(excluded), share)


def split_rest(rest: Sequence[Trial], options: Mapping[str, Any], so_far: Rule, sure: float) -> Iterator[Rule]:
    """The rules of a rest that mostly has the outcome, but not with some values, where shapes decide."""
    for option in options:
        outcomes: dict[Key, list[bool]] = {}
        for trial in rest:
            outcomes.setdefault(trial.key(option), []).append(trial.outcome)
        doubtful = frozenset(key for key, seen in outcomes.items() if sum(seen) < sure * len(seen))
        condition = condition_of(Split(option, frozenset(outcomes) - doubtful, True, doubtful), frozenset(outcomes))
        if doubtful and len(doubtful) < len(outcomes) and condition is not None:
            so_far = (*so_far, condition)
            there = [trial for trial in rest if trial.key(option) in doubtful]
            yield from ((*rule, negated(condition)) for rule in learn(there, sure).rules)
            rest = [trial for trial in rest if trial.key(option) not in doubtful]
    yield so_far


def merged(rule: Rule) -> Rule:
    """A rule with what it says of one option in one condition."""
    chosen: dict[str, Condition] = {}
    for condition in rule:
        known = chosen.get(condition.option)
        if known is None:
            chosen[condition.option] = condition
        elif known.negated and condition.negated:
            chosen[condition.option] = replace(known, values=tuple(dict.fromkeys((*known.values, *condition.values))))
        else:
            listed, other = (condition, known) if known.negated else (known, condition)
            chosen[condition.option] = replace(listed, values=tuple(filter(other.holds, listed.values)))
    return tuple(chosen.values())


def hinges(trials: Sequence[Trial]) -> list[str]:
    """The options of which a change alone changed the outcome."""
    bases = {trial.base: trial.outcome for trial in trials if trial.changed is None}
    found = {
        trial.changed: None
        for trial in trials
        if trial.changed is not None and bases.get(trial.base, trial.outcome) != trial.outcome
    }
    return list(found)


def best_split(trials: Sequence[Trial], options: Mapping[str, Counter[Key]]) -> Split | None:
    """The option that tells most trials apart: the exceptions by preference, and where both are many also the rule."""
    share = sum(trial.outcome for trial in trials) / len(trials)
    rare = share < 0.5
    found = most_telling(trials, options, rare)
    return most_telling(trials, options, not rare) if found is None and FEW < share < 1 - FEW else found


FEW = 0.1
"""So small a share of exceptions is not worth a rule for what is no exception."""


def most_telling(trials: Sequence[Trial], options: Mapping[str, Counter[Key]], outcome: bool) -> Split | None:
    """The option of which most trials have values that all lead to this outcome, if others remain.

    A condition must be able to name the values: of `dims=(0, 2)` none can speak, of the others `dims=null` may.
    """
    best, most = None, 0
    for option in options:
        outcomes: dict[Key, set[bool]] = {}
        for trial in trials:
            outcomes.setdefault(trial.key(option), set()).add(trial.outcome)
        values = frozenset(key for key, seen in outcomes.items() if seen == {outcome})
        taken = sum(trial.key(option) in values for trial in trials)
        split = Split(option, values, outcome, frozenset(outcomes) - values)
        if most < taken < len(trials) and condition_of(split, frozenset(options[option])) is not None:
            best, most = split, taken
    return best


def condition_of(split: Split, every: frozenset[Key]) -> Condition | None:
    """The condition that holds for the values of a split; None if it cannot be written.

    It lists the values of the side that ends: that with fewer ordinary numbers, which stand for all others. Several
    integers on one side, and none on the other, stand for every integer: `dim=int`.
    """
    sides = [(split.values, False), (every - split.values, True)]
    if (least := least_of_many(split.values, every - split.values)) is not None:
        return Condition(split.option, (f"{least}{MORE}",))
    for keys, negative in sorted(sides, key=lambda side: (ordinary(side[0]), len(side[0]), side[1])):
        if ordinary(keys) == len(ORDINARY):
            continue
        listed = [value for _, value in keys if writable(value) and (not is_number(value) or value in NUMBERS)]
        if listed and (len(listed) == len(keys) or not negative):
            plain = dict.fromkeys(sorted(map(whole, listed), key=repr))  # False with 0, True with 1
            others = split.values if negative else split.others
            if len(list(filter(is_whole, keys))) >= MANY and not any(map(is_whole, others)):
                plain = {ANY_INT: None} | {value: None for value in plain if type(value) is not int}
            return Condition(split.option, tuple(plain), negative)
    return None


def least_of_many(keys: frozenset[Key], others: frozenset[Key]) -> int | None:
    """The least of several integers, if these are all of one side, and lie above all of the other, which has some."""
    integers, rest = (sorted(value for _, value in filter(is_whole, side)) for side in (keys, others))
    apart = bool(rest) and MANY <= len(integers) == len(keys) and integers[0] > rest[-1]
    return integers[0] if apart else None


MANY = 3
"""So many integers of one outcome, and none of the other, stand for all of them."""
ORDINARY = (0.5, 1.5, 2.5, 3, 4)
"""Numbers of which none is special."""


def ordinary(keys: frozenset[Key]) -> int:
    return len({value for _, value in keys if value in ORDINARY})


def is_whole(key: Key) -> bool:
    return not key[0] and isinstance(key[1], int)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def writable(value: Any) -> bool:
    """Whether a condition can speak of a value."""
    return value is None or is_number(value) or (isinstance(value, str) and re.fullmatch(r"[\w-]+", value) is not None)


def negated(condition: Condition) -> Condition:
    return Condition(condition.option, condition.values, not condition.negated)


def simple(value: Any) -> Any:
    """A value as conditions speak of it: a sequence of equal items is the item, what is no constant its text."""
    if isinstance(value, (list, tuple)) and value:
        items = [simple(item) for item in value]
        return items[0] if all(item == items[0] for item in items) else str(tuple(items))
    return value if writable(value) else f"<{value}>"
