"""Binary operators, on tensors and on Python's values."""

from __future__ import annotations

import math
import re

from ..heap.values import (
    Array,
    Choice,
    Condition,
    Const,
    Dict,
    Dimension,
    Grad,
    List,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    is_number,
    is_tuple,
)
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import events
from ..trace.log import STORED, WRITES
from ..trace.trace import Trace
from . import arrays, classes, frames, overloads, tensors
from .containers import append, bounded, extend, update
from .iteration import LONGEST, elements_all

SIZE = 1000
"""The most characters of a text, or bits of a number, that something is still computed with."""
_FOLD = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_ON_CONSTANTS = _FOLD | _COMPARE
_WIDE = re.compile(r"\d{4}")
"""What asks a format for a very long text."""
BINARY = frozenset("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift eq ne lt le gt ge".split())
"""Operators of two operands, by the names that Python's methods have for them."""


def augment(m: Trace, name: str, old: Value, value: Value, site: Site, form: str = "augmented") -> Value:
    """``old += value``: in place for tensors, lists and what has a method for it, a new value for everything else."""
    old = m.see(old)
    if isinstance(old, Choice):
        return m.split([old], lambda options: augment(m, name, options[0], value, site, form))
    inplace = facts.lookup(f"Tensor.__i{name}__")
    if isinstance(old, Tensor) and inplace:  # there is no in-place matmul: `x @= y` makes a new tensor
        overloads.apply(m, inplace, [old, value], {}, site, form)
        return old
    if isinstance(old, List) and name == "add" and not old.fixed:
        extend(m, old, value)
        return old
    if isinstance(old, Dict) and name == "or":
        update(m, old, value, {})
        return old
    if (array := arrays.known(m, old)) is not None and not frames.is_frame(array):
        arrays.write(m, array, "augmented", site, name, value)
        return old
    made = classes.special(m, old, f"__i{name}__", [value], site)
    return made if made is not None else operator(m, name, old, value, site)


def operator(m: Trace, name: str, left: Value, right: Value, site: Site) -> Value:
    """A binary operator, on tensors or on Python's values."""
    left, right = m.see(left), m.see(right)
    if (array := arrays.operator(m, name, left, right, site)) is not None:
        return array
    if isinstance(left, Choice) or isinstance(right, Choice):
        return m.split([left, right], lambda v: operator(m, name, v[0], v[1], site))
    left, right = (Unknown(scalar=True) if isinstance(v, Array) else v for v in (left, right))
    made = _special(m, name, left, right, site)
    if made is None:
        made = _of_tensors(m, name, left, right, site)
    if made is not None:
        return made
    if isinstance(left, Const) and isinstance(right, Const) and not _asks_infinity(name, left.value, right.value):
        return _of_constants(name, left.value, right.value)
    if name in _COMPARE:
        return _compare(m, name, left, right)
    made = _of_containers(m, name, left, right)
    return made if made is not None else _arithmetic(m, name, left, right)


def _special(m: Trace, name: str, left: Value, right: Value, site: Site) -> Value | None:
    """What the ``__add__`` or ``__radd__`` of an operand makes, if it has one."""
    made = classes.special(m, left, f"__{name}__", [right], site)
    if made is None and name not in _COMPARE:
        made = classes.special(m, right, f"__r{name}__", [left], site)
    return made


def _of_tensors(m: Trace, name: str, left: Value, right: Value, site: Site) -> Value | None:
    if isinstance(left, Tensor):
        return overloads.apply(m, facts.lookup(f"Tensor.__{name}__"), [left, right], {}, site)
    if not isinstance(right, Tensor) or isinstance(left, (List, Tuple)):
        return None
    if isinstance(left, Unknown) and left.likely:
        return overloads.apply(m, facts.lookup(f"Tensor.__{name}__"), [left, right], {}, site)
    return overloads.apply(m, facts.lookup(f"Tensor.__r{name}__"), [right, left], {}, site)


def _of_containers(m: Trace, name: str, left: Value, right: Value) -> Value | None:
    """``a + b`` and ``a * n`` of lists and tuples, ``a | b`` of dictionaries."""
    if name == "add" and isinstance(left, (List, Tuple)) and isinstance(right, (List, Tuple)):
        a, b = elements_all(m, left), elements_all(m, right)
        holds = any(isinstance(item, (Tensor, Array)) for item in b[0])
        few = len(a[0]) + len(b[0]) <= LONGEST
        if few and not holds and isinstance(left, Tuple) and isinstance(right, Tuple):
            return Tuple((*left.items, *right.items))
        if few and (holds or len(m.state[STORED]) or len(m.state[WRITES])):
            return _joined(m, left, right, a, b)
        return bounded((*a[0], *b[0]), a[1] or b[1])
    if name == "or" and isinstance(left, Dict) and isinstance(right, Dict):
        one, other = m.state.get(left), m.state.get(right)
        return Dict({**one.items, **other.items}, one.open or other.open)
    if name == "mul" and isinstance(left, List):
        return _repeated(m, left, right)
    return None


_Elements = tuple[tuple[Value, ...], bool]


def _joined(m: Trace, left: List | Tuple, right: List | Tuple, first: _Elements, second: _Elements) -> List:
    """``left + right``, where it matters since when a list or tuple holds its elements."""
    fixed = is_tuple(left) and is_tuple(right)
    begun = (_bound(m, left) if isinstance(left, Tuple) else left.time) if fixed else 0
    made = List(first[0], first[1] or second[1], begun, fixed)
    events.pass_on(m, left, made, first[0])
    for item in second[0]:
        append(m, made, item)
    events.pass_on(m, right, made, second[0])
    return made


def _bound(m: Trace, value: Tuple) -> int:
    """Return when a variable of the running function got a tuple; 0 if none has it."""
    frames = m.stack.frames[-1:]
    found = [frame.bound(name) for frame in frames for name, each in frame.vars.items() if m.see(each) is value]
    return max(found, default=0)


def _repeated(m: Trace, left: List, right: Value) -> List:
    """``[x] * n``."""
    times = constant(right)
    contents = m.state.get(left)
    known = isinstance(times, int) and not isinstance(right, Unknown) and 0 <= times <= 16
    items = contents.items if known and times == 1 else tuple(one_of_many(m, item) for item in contents.items)
    return bounded(items * (times if known else 2), not known)


def _asks_infinity(name: str, left: object, right: object) -> bool:
    """Whether a comparison is one with infinity, as in a test of the best score so far: a later score may not pass."""
    return name in ("lt", "le", "gt", "ge") and any(abs(one) == math.inf for one in (left, right) if type(one) is float)


def _of_constants(name: str, left: object, right: object) -> Value:
    """What an operator makes of two constants, unless it makes something very large of them."""
    text = next((value for value in (left, right) if isinstance(value, (str, bytes))), None)
    times = next((value for value in (left, right) if isinstance(value, int)), 0)
    long = text is not None and ((name == "mul" and times > SIZE) or (name == "mod" and _WIDE.search(str(text))))
    if long or not is_small(left) or not is_small(right):
        return Unknown(scalar=True)
    try:
        return Const(_ON_CONSTANTS[name](left, right))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return Unknown(scalar=True)


def is_small(constant: object) -> bool:
    """Whether something may be computed with a constant: what is made of it again and again has no end."""
    if isinstance(constant, (str, bytes)):
        return len(constant) <= SIZE
    return not isinstance(constant, int) or constant.bit_length() <= SIZE


def one_of_many(m: Trace, item: Value, place: Site | None = None) -> Value:
    """An element that a repeated list has several times: ``[x] * n``. ``place`` is where it becomes so many."""
    item = m.see(item)
    if isinstance(item, Array):
        item = Array(_row(item.tensor, place))
    return _row(item, place) if isinstance(item, Tensor) else item


def _row(item: Tensor, place: Site | None) -> Tensor:
    """The same tensor as one of several rows that are one in memory."""
    same = Tensor(item.storage, item.cell, item.view, item.contiguous, item.dims, item.dtype)
    same.origin, same.time, same.place, same.lead = item.origin, item.time, place, Dimension.ROW
    return same


def _compare(m: Trace, name: str, left: Value, right: Value) -> Value:
    positive = isinstance(left, Unknown) and left.positive and isinstance(right, Const)
    if positive and isinstance(right, Const) and right.value == 0:
        return Const({"eq": False, "ne": True, "lt": False, "le": False, "gt": True, "ge": True}[name])
    text = right.value if isinstance(right, Const) else None
    if left == Ref("torch.__version__") and name in ("eq", "ne") and isinstance(text, str) and not text[:1].isdigit():
        return Const(name == "ne")  # it asks whether something else poses as torch
    if _is_beyond_all(name, left, right):
        return Const(True)
    if name == "ne":
        test = m.symbol("eq", left, right, scalar=True)
        m.numbers.compare("eq", left, right, test)
        return Condition(frozenset({(test, False)}), frozenset({(test, True)}))
    sides = (left, right)  # of which one may be a tensor, and what comes out a mask: `mask == 0`, not `mode == "train"`
    text = any(isinstance(side, Const) and not is_number(side) for side in sides)
    mask = not text and any(isinstance(side, Unknown) and not side.scalar for side in sides)
    test = m.symbol(name, left, right, scalar=not mask)
    m.numbers.compare(name, left, right, test)
    return test


def _is_beyond_all(name: str, left: Value, right: Value) -> bool:
    """Whether a value is compared with an infinity, so that the first score is better than none: ``loss < np.inf``."""
    if name not in ("lt", "le", "gt", "ge"):
        return False
    small, large = (left, right) if name in ("lt", "le") else (right, left)
    bounds = ((small, large, -math.inf), (large, small, math.inf))
    return any(isinstance(other, Unknown) and constant(one) == bound for one, other, bound in bounds)


def _arithmetic(m: Trace, name: str, left: Value, right: Value) -> Value:
    """An operator on values that are not known to be tensors."""
    made = _symbolic(m, name, left, right)
    if name in ("add", "sub"):
        m.numbers.add(made, left, right, 1 if name == "add" else -1)
    return made


def _symbolic(m: Trace, name: str, left: Value, right: Value) -> Value:
    scalar = all(isinstance(v, Const) or (isinstance(v, Unknown) and v.scalar) for v in (left, right))
    if scalar:
        positive = name == "add" and isinstance(left, Unknown) and left.positive and isinstance(constant(right), int)
        value = m.symbol(name, left, right, scalar=True)
        value.positive = bool(positive and constant(right) >= 0)
        return value
    unknowns = [v for v in (left, right) if isinstance(v, Unknown)]
    if not unknowns:
        return Unknown()
    grad = max((v.grad for v in unknowns), default=Grad.NO)
    nodes = m.history(left, right)
    if not nodes:
        return m.symbol(name, left, right, grad=grad)
    return tensors.unknown_call(m, left, right)
