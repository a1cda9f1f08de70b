"""Look-up of what a PyTorch call saves, overwrites and returns.

The facts stand in `ops.json`, written by `generate.py` from PyTorch's own tables and from execution. The file holds one
row per overload as short strings and, for each name, the rows to try; a row becomes an `Op` when it is first asked for,
so loading costs little more than parsing the JSON. The notation of the strings is given at `parse_op`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from .releases import NEWEST, Range, Release, release_of, split_row

TABLE = Path(__file__).with_name("ops.json")
FORMAT = 1
LIBRARIES = Path(__file__).with_name("libraries")
PACKAGES = frozenset("apex einops flash_attn liger_kernel torch_scatter torchvision xformers".split())
"""Libraries over torch that have a table of their own. It is read when one of their names is looked up."""

OVERWRITING = frozenset({"liger_cross_entropy", "LigerCrossEntropyLoss"})
"""Names in these tables of what overwrites an argument behind the version counter."""


_TAKEN: list[str] = []


class FactsError(ValueError):
    """The table of facts is missing or unreadable; the installation is damaged."""


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


SHAPE = ".shape"
"""In a condition, behind the name of a tensor: see `sizes.relation`."""


FITS = ".fits"
"""In a condition, behind an option that gives sizes: whether the first tensor is at least as large."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the value of an option: `mode=area`, `output_size!=1`, `dim!=null`, `dim=int` for any integer.

    An option that is not given counts as None, so a condition must come out for None as it does for the default.
    """

    option: str
    values: tuple[Any, ...]
    negated: bool = False

    def holds(self, value: Any) -> bool:
        """Whether it holds for a value that is known; None for an option that is not given."""
        named = value in self.values or (ANY_INT in self.values and type(value) is int)
        return named is not self.negated


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


KEYS = ("rows", "names", "modules", "tensor_methods", "tensor_only_methods", "inplace_methods")


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The parsed `ops.json`."""
    return _shipped(TABLE, KEYS)


@cache
def library(package: str) -> dict[str, Any]:
    """The table of a library over torch, one of ``PACKAGES``: the format of a table of the user's own."""
    return _shipped(LIBRARIES / f"{package}.json", ("names", "version", "source"))


def _shipped(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT or not all(data[key] for key in keys):
            raise FactsError(f"{path}: empty, or not of format {FORMAT}; reinstall flake8-inplace")
    except (OSError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FactsError(f"{path}: unreadable table of facts ({error}); reinstall flake8-inplace") from error
    return data  # type: ignore[no-any-return]


def _library_of(name: str) -> dict[str, Any]:
    package = name.partition(".")[0]
    return library(package) if package in PACKAGES else {}


def extend(path: str) -> None:
    """Take a table of the user's own operators and modules in, over what is known of the same names.

    Its format is that of `ops.json`: "format", and of "rows", "names" and "modules" what there is. Rows of other
    releases of PyTorch than the selected one are left out. Raises FactsError, with one line, where it cannot be read.
    """
    try:
        data = json.loads(Path(path).read_bytes())
        unknown = set(data) - {"format", "rows", "names", "modules"}
        if data["format"] != FORMAT or unknown:
            raise FactsError(f"{path}: " + (f"unknown key {min(unknown)!r}" if unknown else f"not of format {FORMAT}"))
        known = table()
        release = known.get("release", NEWEST)
        rows = [_own(row) for row in data.get("rows", [])]
        modules = {name: _MODULE | _held(entry, release) for name, entry in data.get("modules", {}).items()}
        names = {
            name: [len(known["rows"]) + range(len(rows))[i] for i in found if release in rows[i][1]]
            for name, found in data.get("names", {}).items()
        }
    except FactsError:
        raise
    except OSError as error:
        raise FactsError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise FactsError(f"{path}: not valid JSON: {error}") from error
    except ValueError as error:
        raise FactsError(f"{path}: not a table of operators: {error}") from error
    except (AttributeError, LookupError, TypeError) as error:
        raise FactsError(f"{path}: not a table of operators") from error
    _TAKEN.append(json.dumps(data))
    known["rows"] += [bare for bare, _ in rows]
    known["names"].update({name: places for name, places in names.items() if places})
    known["modules"].update({name: entry for name, entry in modules.items() if "op" in entry})
    lookup.cache_clear()


_MODULE = {"init": "", "defaults": {}, "parameters": "", "buffers": ""}
_FORMS = frozenset({"op", "inplace", "indices"})
"""What an entry of "modules" has rows for."""


def _held(entry: dict[str, Any], release: Release) -> dict[str, Any]:
    """An entry of "modules" without the rows of other releases."""
    rows = {form: _own(entry[form]) for form in _FORMS.intersection(entry)}
    rest = {key: value for key, value in entry.items() if key not in rows}
    return rest | {form: bare for form, (bare, during) in rows.items() if release in during}


def _own(row: str) -> tuple[str, Range]:
    """A row of the user's, and the releases that it holds for. Raises ValueError."""
    bare, during = split_row(row)
    _valid(parse_op(bare), bare)
    return bare, during


def select(release: str) -> None:
    """Use the facts of an older release of PyTorch, such as "2.6", from here on. Raises ValueError.

    Where the release differs from the newest one, "older" has the rows that held then. Such a row goes before the
    others of its name, or takes the place of the one with the same parameters.
    """
    known = table()
    known["release"] = release_of(release)
    _TAKEN.append(release)
    for name, rows in known["older"].items():
        held = [bare for bare, during in map(split_row, rows) if known["release"] in during]
        module, _, form = name.partition("(")
        if module in known["modules"]:
            known["modules"][module].update((form.removesuffix(")") or "op", row) for row in held)
        elif held:
            older = {_params_of(row): len(known["rows"]) + i for i, row in enumerate(held)}
            places = [older.pop(_params_of(known["rows"][i]), i) for i in known["names"].get(name, ())]
            known["names"][name] = [*older.values(), *places]
            known["rows"] += held
    lookup.cache_clear()


def _params_of(row: str) -> str:
    return row.split("|")[1]


def _valid(op: Op, row: str) -> None:
    """Raises ValueError where a row speaks of a parameter, an option or a kind of output that there is not."""
    params = {param.name for param in op.params}
    spoken = {*op.writes, *op.unseen, *(need for save in op.saves for need in save.needs)}
    spoken |= {out.of for out in op.outs if out.of}
    spoken |= {save.slot for save in op.saves if not save.slot.startswith("result")}
    options = {condition.option.removesuffix(SHAPE).removesuffix(FITS) for save in op.saves for condition in save.when}
    spoken |= {option for option in options if option != "training" and not option.startswith("init.")}
    kinds = {out.kind for out in op.outs} - {"fresh", "same", "view", "views", "expand", "maybe", "detached", "unsafe"}
    if wrong := sorted((spoken - params) | kinds):
        raise ValueError(f"{wrong[0]!r} in {row!r}")


def taken() -> tuple[str, ...]:
    """What was done to the shipped table, in order: tables of the user's own, releases that were selected."""
    return tuple(_TAKEN)


def torch_version() -> str:
    """The PyTorch release the facts were read from."""
    return str(table()["torch"])


def devices() -> tuple[str, ...]:
    """The devices the facts were measured on."""
    return tuple(table()["devices"])


@cache
def lookup(name: str) -> tuple[Op, ...]:
    """The overloads of `name` ("torch.mul", "Tensor.mul_", ...) in the order to try; () if it is unknown."""
    data = table()
    found = data["names"].get(name) or _of_dispatcher(name)
    if not found and (of := _library_of(name)):
        data, found = of, of["names"].get(name, ())
    try:
        rows = [parse_op(data["rows"][i]) for i in found]
    except (LookupError, TypeError, ValueError) as error:
        raise FactsError(f"{TABLE}: unreadable row for {name} ({error}); reinstall flake8-inplace") from error
    if not name.startswith("Tensor."):
        rows = [_as_function(op) for op in rows]
    return tuple(rows)


def layer(name: str) -> dict[str, Any] | None:
    """What the tables say of a class of layers, by its full name; None if it is unknown."""
    found = table()["modules"].get(name)
    if found is None and (of := _library_of(name).get("modules", {}).get(name)) is not None:
        found = _MODULE | of
    return found  # type: ignore[no-any-return]


_DISPATCHER = "torch.ops.aten."
_BOUND = ("torch.", "torch.nn.functional.", "Tensor.")


def _of_dispatcher(name: str) -> list[int]:
    """The rows of an operator called as `torch.ops.aten.mul.Tensor`: those of its Python binding."""
    if not name.startswith(_DISPATCHER):
        return []
    known: dict[str, list[int]] = table()["names"]
    base = name.removeprefix(_DISPATCHER).partition(".")[0]
    package, _, rest = base.partition("_")
    ways = [f"{_DISPATCHER}{base}", f"torch.{package}.{rest}", *(f"{bound}{base}" for bound in _BOUND)]
    return next((known[way] for way in ways if way in known), [])


def names() -> frozenset[str]:
    """Every name `lookup` knows."""
    return frozenset(table()["names"])


def tensor_methods() -> frozenset[str]:
    """Public methods and properties of torch.Tensor."""
    return _words("tensor_methods")


def tensor_only_methods() -> frozenset[str]:
    """Those that no other common Python object has: using one proves that the value is a tensor."""
    return _words("tensor_only_methods")


def scalar_methods() -> frozenset[str]:
    """Methods and properties whose result is not a tensor: item, size, shape, ..."""
    return _words("scalar_methods")


def inplace_methods() -> frozenset[str]:
    """Methods that overwrite the tensor and raise its version counter."""
    return _words("inplace_methods")


def no_bump_methods() -> frozenset[str]:
    """Methods that end in an underscore and leave the version counter as it is: detach_, requires_grad_, ..."""
    return _words("no_bump_methods")


@cache
def keeps_shape(op: str) -> bool:
    """Whether the result of an operator has the shape that its operands are broadcast to."""
    return op in _words("shape_keeping")


@cache
def _words(key: str) -> frozenset[str]:
    return frozenset(str(table()[key]).split())


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


def _as_function(op: Op) -> Op:
    """Functions bound from a schema call `self` "input"; rows are shared with the methods and keep `self`."""
    if all(p.name != "self" for p in op.params):
        return op

    def name(word: str) -> str:
        return "input" if word == "self" else word

    return replace(
        op,
        params=tuple(replace(p, name=name(p.name)) for p in op.params),
        saves=tuple(replace(s, slot=name(s.slot), needs=tuple(map(name, s.needs))) for s in op.saves),
        writes=tuple(map(name, op.writes)),
        unseen=tuple(map(name, op.unseen)),
        outs=tuple(replace(o, of=name(o.of)) if o.of else o for o in op.outs),
    )


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
