"""The facts about one operator, and the notation of them: a row of text each, read and written here."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter, by the name users write as a keyword."""

    name: str
    kind: str  # "tensor", "tensors" (a list or tuple of tensors, or varargs of them) or "other"
    optional: bool = False
    varargs: bool = False
    kwonly: bool = False


ANY_INT = "int"
"""In a condition: any integer, which neither None nor a sequence is."""


MORE = "+"
"""In a condition, behind an integer: it, and any greater one."""


SHAPE = ".shape"
"""In a condition, behind the name of a tensor: see `sizes.relation`. That of the first tensor may be `SCALAR`."""


SCALAR = "scalar"


DTYPE = ".dtype"
"""In a condition, behind the name of a tensor: whether its elements are of float64, which is `DOUBLE`."""


DOUBLE = "double"


FITS = ".fits"
"""In a condition, behind an option that gives sizes: whether the first tensor is at least as large."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the value of an option: `mode=area`, `output_size!=1`, `dim!=null`.

    `dim=int` is for any integer, `n=2+` for those from 2 on.

    An option that is not given counts as None, so a condition must come out for None as it does for the default.
    """

    option: str
    values: tuple[Any, ...]
    negated: bool = False

    @property
    def about(self) -> str:
        """The name of the parameter that it speaks of."""
        return self.option.removesuffix(SHAPE).removesuffix(DTYPE).removesuffix(FITS)

    def holds(self, value: Any) -> bool:
        """Whether it holds for a value that is known; None for an option that is not given."""
        named = value in self.values or (type(value) is int and any(_takes(word, value) for word in self.values))
        return named is not self.negated


def _takes(word: Any, value: int) -> bool:
    """Whether an integer is among those that a word of a condition stands for."""
    return word == ANY_INT or (isinstance(word, str) and word.endswith(MORE) and value >= int(word.removesuffix(MORE)))


@dataclass(frozen=True, slots=True)
class Save:
    """A tensor that autograd keeps for the backward pass."""

    slot: str  # a Param.name, or "result", "result1", ...: the output of that index
    needs: tuple[str, ...]  # kept when any of these parameters requires grad
    sure: bool = True  # False: kept for some option values of this overload only
    when: tuple[Condition, ...] = ()  # for which ones, where that is known: all of these hold
    device: str = ""  # made by the kernels of this device only, such as cuda


@dataclass(frozen=True, slots=True)
class Out:
    """One output.

    kind is what it aliases: "fresh" (new memory), "same" (the very object passed as `of`), "view", "views" (a view of
    which autograd forbids in-place changes: split, chunk, unbind), "expand" (a view whose elements overlap), "maybe"
    (`of` itself, a view of it or a copy, depending on values: reshape, contiguous, to), "detached" (shares memory and
    version counter, carries no gradient), "unsafe" (shares memory but not the version counter).
    """

    kind: str = "fresh"
    of: str | None = None
    differentiable: bool = True  # False: never requires grad, whatever the inputs
    many: bool = False  # a list or tuple of unknown length
    integral: bool = False  # holds integers or booleans whatever the inputs: indices, masks, counts


@dataclass(frozen=True, slots=True)
class Op:
    """One overload of one operation."""

    name: str
    params: tuple[Param, ...]
    saves: tuple[Save, ...] = ()
    writes: tuple[str, ...] = ()  # parameters whose version counter goes up
    outs: tuple[Out, ...] = ()  # one: a tensor (a list, if many); several: a tuple; none: no tensor
    inplace: str | None = None  # what to look up instead when called with inplace=True
    identity: tuple[Condition, ...] = ()  # if one holds, it returns its first argument itself: disabled dropout
    unseen: tuple[str, ...] = ()  # parameters that a kernel overwrites behind the version counter, if they require grad


def parse_op(row: str) -> Op:
    """Read one row: `name | params | saves | writes | outs | inplace | identity`, trailing empty fields left out.

    - params: `self:T` a tensor, `tensors:L` several, a bare `dim` anything else; `?` optional, a leading `*` varargs; a
      lone `*` starts the keyword-only ones.
    - saves: `other<self,out` slot and needs, a trailing `~` if not sure, or `~mode=area,linear`, `~output_size!=1` if
      it depends on the value of an option; `&` joins conditions. `@cuda` if only that device makes it.
    - writes: the parameters that are overwritten; `unsafe(x)` behind the version counter, where x requires grad.
    - outs: `fresh`, `view(self)`; `!` never requires grad, `#` nor is it of floats, `[]` a list.
    - identity: conditions such as `p=0`, any of which makes it return its first argument itself.
    """
    fields = [field.split() for field in row.split("|")]
    fields += [[]] * (7 - len(fields))
    (name,), params, saves, writes, outs, inplace, identity = fields
    return Op(
        name=name,
        params=_params(params),
        saves=tuple(parse_save(word) for word in saves),
        writes=tuple(word for word in writes if not word.startswith(_UNSAFE)),
        outs=tuple(_out(word) for word in outs),
        inplace=inplace[0] if inplace else None,
        identity=tuple(parse_condition(word) for word in identity),
        unseen=tuple(word[len(_UNSAFE) : -1] for word in writes if word.startswith(_UNSAFE)),
    )


_UNSAFE = "unsafe("


_KINDS = {"": "other", "T": "tensor", "L": "tensors"}


def _params(words: list[str]) -> tuple[Param, ...]:
    params = []
    kwonly = False
    for word in words:
        if word == "*":
            kwonly = True
            continue
        bare = word.strip("*?")
        name, _, kind = bare.partition(":")
        params.append(Param(name, _KINDS[kind], word.endswith("?"), word.startswith("*"), kwonly))
    return tuple(params)


def parse_save(word: str) -> Save:
    """Read `slot<needs@device~condition`."""
    word, tilde, condition = word.partition("~")
    word, _, device = word.partition("@")
    slot, _, needs = word.partition("<")
    when = tuple(map(parse_condition, condition.split("&"))) if condition else ()
    return Save(slot, tuple(needs.split(",")), not tilde, when, device)


def parse_condition(text: str) -> Condition:
    """Read `option=value,value` or `option!=value`; a value is a word, or a constant in JSON."""
    option, _, values = text.partition("=")
    return Condition(option.rstrip("!"), tuple(map(_constant, values.split(","))), option.endswith("!"))


def _constant(word: str) -> Any:
    try:
        return json.loads(word)
    except json.JSONDecodeError:
        return word


def format_condition(when: Condition) -> str:
    """Write a condition; the inverse of `parse_condition`."""
    values = (value if isinstance(value, str) else json.dumps(value) for value in when.values)
    return f"{when.option}{'!' * when.negated}={','.join(values)}"


def format_save(save: Save) -> str:
    """Write a save; the inverse of `parse_save`."""
    device = f"@{save.device}" if save.device else ""
    conditions = "&".join(map(format_condition, save.when))
    return f"{save.slot}<{','.join(save.needs)}{device}{'' if save.sure else '~'}{conditions}"


def _out(word: str) -> Out:
    many = word.endswith("[]")
    bare = word.removesuffix("[]")
    kind, _, of = bare.rstrip("!#").partition("(")
    return Out(kind, of.rstrip(")") or None, bare[-1] not in "!#", many, bare[-1] == "#")


def format_op(op: Op) -> str:
    """Write an `Op` as a row; the inverse of `parse_op`."""
    params: list[str] = []
    letter = {kind: mark for mark, kind in _KINDS.items()}
    for p in op.params:
        if p.kwonly and "*" not in params:
            params.append("*")
        mark = f":{letter[p.kind]}" if letter[p.kind] else ""
        params.append(f"{'*' * p.varargs}{p.name}{mark}{'?' * p.optional}")
    saves = map(format_save, op.saves)
    outs = [
        f"{o.kind}{f'({o.of})' if o.of else ''}{'#' if o.integral else '' if o.differentiable else '!'}{'[]' * o.many}"
        for o in op.outs
    ]
    identity = map(format_condition, op.identity)
    writes = [*op.writes, *(f"{_UNSAFE}{name})" for name in op.unseen)]
    fields = [op.name, *map(" ".join, (params, saves, writes, outs)), op.inplace or "", " ".join(identity)]
    while fields and not fields[-1]:
        fields.pop()
    return "|".join(fields)


def as_function(op: Op) -> Op:
    """Functions bound from a schema call `self` "input"; rows are shared with the methods and keep `self`."""
    if all(p.name != "self" for p in op.params):
        return op

    def name(word: str) -> str:
        return "input" if word == "self" else word

    def named(save: Save) -> Save:
        when = tuple(replace(c, option=name(c.about) + c.option.removeprefix(c.about)) for c in save.when)
        return replace(save, slot=name(save.slot), needs=tuple(map(name, save.needs)), when=when)

    return replace(
        op,
        params=tuple(replace(p, name=name(p.name)) for p in op.params),
        saves=tuple(map(named, op.saves)),
        writes=tuple(map(name, op.writes)),
        unseen=tuple(map(name, op.unseen)),
        outs=tuple(replace(o, of=name(o.of)) if o.of else o for o in op.outs),
    )


def check(op: Op, row: str) -> None:
    """Raises ValueError where a row speaks of a parameter, an option or a kind of output that there is not."""
    params = {param.name for param in op.params}
    spoken = {*op.writes, *op.unseen, *(need for save in op.saves for need in save.needs)}
    spoken |= {out.of for out in op.outs if out.of}
    spoken |= {save.slot for save in op.saves if not save.slot.startswith("result")}
    options = {condition.about for save in op.saves for condition in save.when}
    spoken |= {option for option in options if option != "training" and not option.startswith("init.")}
    kinds = {out.kind for out in op.outs} - {"fresh", "same", "view", "views", "expand", "maybe", "detached", "unsafe"}
    if wrong := sorted((spoken - params) | kinds):
        raise ValueError(f"{wrong[0]!r} in {row!r}")
