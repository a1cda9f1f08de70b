"""Look-up of what a PyTorch call saves, overwrites and returns.

The facts stand in `ops.json`, written by `generate.py` from PyTorch's own tables and from execution. The file holds one
row per overload as short strings and, for each name, the rows to try; a row becomes an `Op` when it is first asked for,
so loading costs little more than parsing the JSON. The notation of the strings is given at `notation.parse_op`.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from .notation import Op as Op
from .notation import as_function, check, parse_op
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
    check(parse_op(bare), bare)
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
        rows = [as_function(op) for op in rows]
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
def methods_of_text() -> frozenset[str]:
    """Methods that strings have, and neither tensors nor containers."""
    return frozenset(dir(str)).difference(tensor_methods(), *map(dir, (list, dict, set)))


@cache
def never_inplace() -> frozenset[str]:
    """Names of what does not work, or make something that works, in place where it is called with True."""
    methods = (name for name in tensor_methods() if f"{name}_" not in inplace_methods())
    return frozenset({"getattr", "get", "pop", "setdefault", *methods})


@cache
def keeps_shape(op: str) -> bool:
    """Whether the result of an operator has the shape that its operands are broadcast to."""
    return op in _words("shape_keeping")


@cache
def reduces(op: str) -> bool:
    """Whether an operator that is given nothing but tensors makes one number of them."""
    return op in _words("reducing")


@cache
def is_view(method: str) -> bool:
    """Whether a method of tensors returns the memory of the tensor itself, or may do so."""
    outs = [out for op in lookup(f"Tensor.{method}") for out in op.outs]
    return bool(outs) and all(out.kind not in ("fresh", "same") for out in outs)


@cache
def _words(key: str) -> frozenset[str]:
    return frozenset(str(table()[key]).split())
