"""The words of a finding: what happens, where, what goes wrong, and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import libcst as cst

from .finding import Finding, Place, Related, Words, said
from .hazards.saved import AGAIN, LATER, RENORM, TO_A_CLONE, UPDATES, VALUE_FIRST
from .rule import Rule
from .torchfacts import ops as facts

if TYPE_CHECKING:
    from .program.pieces import Piece
    from .program.site import Site
    from .trace.reports import Hazard, Need, Refusal

WIDTH, WIDEST = 100, 105
"""How many characters a headline should have at most, and how many if the program is hardly quoted any more."""
LONGEST, SHORTEST, LEAST = 30, 16, 13
"""The characters of an expression that a headline quotes: at most, to keep to `WIDTH`, and to keep to `WIDEST`."""
_RAISES = "backward raises"
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
"""Statements that hold no others."""
_WRITING = ("op_", "augmented", "subscript", "out", "data", "numpy")
"""The kinds of rules for writes that could be made to another tensor as well."""
_RESULT_COUNTS = ("use `", "drop `out=`")
"""How a remedy begins after which the result has to be assigned."""
_ASSIGNED = " and assign the result"
_VIEWS = ("view", "views", "expand")
_SECOND = ("other", "mat2", "vec", "tensor")
"""What the second operand of an operator is called."""
_SLOTS = {
    "index": "index",
    "mask": "mask",
    "condition": "condition",
    "made": "value",
    "self": "input",
    "input": "input",
    "weight": "weight",
    "parameters": "parameter",
}


def _not_installed(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Files:
    """The files of the project: what to call one by its path, and which belong to installed packages."""

    name_of: Callable[[str], str] = str
    is_installed: Callable[[str], bool] = _not_installed

    def related(self, other: Site, note: str, site: Site) -> Related:
        """Return a place that takes part in a finding at ``site``."""
        path = other.piece.path
        if path == site.piece.path:
            return Related(place_of(other), note)
        return Related(place_of(other), note, path, self.name_of(path))


ALONE = Files()
"""A file that is read by itself."""


def of_hazard(hazard: Hazard, rule: Rule, form: Rule, write: Site, site: Site, files: Files) -> Finding:
    """Return the finding for a stale save. ``form`` is the rule for its form of writing, ``site`` where it stands."""
    saved = hazard.saved
    origin = files.related(saved.place, f"saved by {saved.op} here", site)
    call = hazard.callee() if rule.kind == "callee" else None
    calling = _calling(call, site, files) if call is not None and site is write else ()
    happens = rule.message.format(op=saved.op) if rule.message else f"{_verb(hazard)} {_operand(hazard, call is None)}"
    effect = rule.effect or form.effect or _RAISES
    device = f", on {saved.device.upper()}" if saved.device else ""
    end = f"{', in the previous iteration' if _earlier(hazard) else ''}{device}): {effect}"

    def headline(room: int) -> Words:
        return (*_subject(write, site, files, room), *calling, f" {happens} (", origin, end)

    at = place_of(saved.place) if not origin.path else None
    remedy = _remedy_of(hazard, rule, form, write, call is not None)
    if form.kind == "inplace" and remedy and hazard.write.module is not None:
        remedy = _dropping(remedy, hazard.write.module, write, site, files)
    needed = conditions_of(hazard.needs, site, files)
    return Finding(rule.code, place_of(site), _fitting(headline), at, remedy, needed)


def _calling(call: Site, site: Site, files: Files) -> Words:
    """Where a callee was called, or is defined if autograd calls it."""
    if isinstance(call.expression, cst.FunctionDef):
        name = call.expression.name.value
        return (f" in {name} (", files.related(call, f"{name} is defined here", site), ")")
    return (", called on ", files.related(call, "called here", site), ",")


def _remedy_of(hazard: Hazard, rule: Rule, form: Rule, write: Site, called: bool) -> Words:
    """What to do about a stale save. ``called``: the write is in a function that was given the tensor."""
    advice = AGAIN if _of_next(hazard) else _advice(hazard, rule, form)
    of_module = hazard.saved.leaf or hazard.saved.slot.startswith("self.")
    if of_module and form.kind in _WRITING:
        advice = advice if advice == AGAIN else LATER
    elif form.kind == "augmented" and hazard.write.part:
        advice = TO_A_CLONE
    remedy = (RENORM,) if hazard.write.form == "renorm" else _remedy(advice, form.part, write)
    if remedy == (TO_A_CLONE,) and _saved_by_value(hazard):
        remedy = (VALUE_FIRST,)
    if called and form.kind in _WRITING[:3] and not (of_module or _hands_back(write)):
        remedy = (f"{said(remedy).removesuffix(_ASSIGNED)} and return it",) if remedy else ()
    return remedy


def _advice(hazard: Hazard, rule: Rule, form: Rule) -> str:
    """Return what a rule advises; in a checkpoint, where there are no hooks that could copy, what the form advises."""
    return form.advice if hazard.saved.recomputed else rule.advice or form.advice


def _fitting(headline: Callable[[int], Words]) -> Words:
    """Return a headline that quotes as much of the program as fits. It is made for a number of characters to quote."""
    for room in range(LONGEST, LEAST - 1, -1):
        words = headline(room)
        if len(said(words)) <= (WIDTH if room > SHORTEST else WIDEST):
            return words
    return headline(SHORTEST)


def _subject(write: Site, site: Site, files: Files, room: int) -> Words:
    """Return who overwrites: the write itself, or the call at ``site`` that leads to it."""
    if site is write:
        return (f"`{excerpt(write, room)}`",)
    there = files.related(write, "overwritten here", site)
    return (f"`{excerpt(site, room)}` runs `{excerpt(write, room)}` (", there, "), which")


def _verb(hazard: Hazard) -> str:
    form = hazard.write.form
    return "updates" if form in UPDATES else "may overwrite" if form == "possible" else "overwrites"


def _operand(hazard: Hazard, room: bool) -> str:
    """Return what was saved, as the program calls it if that is plain, and for a call if there is ``room``."""
    slot, op = hazard.saved.slot, hazard.saved.op
    if hazard.saved.possible:
        return "an argument that a call may have saved"
    if slot.startswith("ctx."):
        return f"`{slot}` of {op}"
    if hazard.write.form in UPDATES:
        return f"a parameter saved by {op}"
    shown = room or isinstance(hazard.saved.place.expression, cst.BinaryOperation)
    operand = _operand_of(hazard.saved.place, op, slot) if shown else None
    if operand is not None and len(text := code(hazard.saved.place, operand)) <= LONGEST // 2:
        return f"`{text}`, saved by {op}"
    what = slot.removeprefix("self.") if slot.startswith("self.") else _SLOTS.get(slot, "argument")
    return f"{op}'s saved {'result' if slot.startswith('result') else what}"


def _operand_of(place: Site, op: str, slot: str) -> cst.BaseExpression | None:
    """Return the operand of an operation that was saved, of ``a * b``, ``a.pow(2)`` or ``torch.mm(a, b)``."""
    expression, first = place.expression, slot in ("self", "input")
    if isinstance(expression, cst.BinaryOperation) and not slot.startswith("result"):
        return expression.left if first else expression.right
    if not isinstance(expression, cst.Call) or not isinstance(expression.func, cst.Attribute):
        return None
    if not (first or slot in _SECOND) or expression.func.attr.value != op.rpartition(".")[2]:
        return None
    given = [argument.value for argument in expression.args if argument.keyword is None and not argument.star]
    if not _is_imported(place, expression.func.value):
        given = [expression.func.value, *given]
    operand = given[0 if first else 1] if len(given) > (not first) else None
    return operand if isinstance(operand, (cst.Name, cst.Attribute, cst.Subscript)) else None


def _is_imported(place: Site, receiver: cst.BaseExpression) -> bool:
    """Return whether a function is one of a module, as in ``F.pad(x)``, and no method of a tensor."""
    while isinstance(receiver, cst.Attribute):
        receiver = receiver.value
    return isinstance(receiver, cst.Name) and receiver.value in _imports("\n".join(place.piece.lines))


@lru_cache(maxsize=1)
def _imports(text: str) -> frozenset[str]:
    """Return the names that a file imports."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return frozenset((alias.asname or alias.name).partition(".")[0] for node in nodes for alias in node.names)


def _earlier(hazard: Hazard) -> bool:
    """Return whether the save is below the write in the same call of a function, and so one iteration before."""
    saved, write = hazard.saved, hazard.write
    same = saved.place.piece is write.place.piece and saved.calls == write.calls
    return same and place_of(saved.place).line > _last_line(write.place) and not _contains(write.place, saved.place)


def _saved_by_value(hazard: Hazard) -> bool:
    """Return whether the value that is written is what saves the tensor: ``out[t] = cell(x, out[t - 1])``."""
    saved, write = hazard.saved, hazard.write
    depth = len(write.calls)
    at = (*saved.calls, saved.place)[depth] if saved.calls[:depth] == write.calls else None
    if at is None or at.piece is not write.place.piece:
        return False
    return place_of(write.place).line <= place_of(at).line <= _last_line(write.place)


def _of_next(hazard: Hazard) -> bool:
    """Return whether an update is needed by a backward above it, which is the next iteration's."""
    write, end = hazard.write, hazard.end
    if not (write.form in UPDATES or hazard.saved.leaf) or end is None or end.piece is not write.place.piece:
        return False
    return place_of(end).line < place_of(write.place).line


def _last_line(site: Site) -> int:
    """Return where the statement ends that a place stands in: what it assigns is evaluated before."""
    line = place_of(site).line
    return _ends(site.piece).get(line, line)


@lru_cache(maxsize=1)
def _ends(piece: Piece) -> dict[int, int]:
    """For each line of a simple statement, where the statement ends."""
    nodes = (node for part in piece.body or () for node in ast.walk(part) if isinstance(node, _SIMPLE))
    spans = [(node.lineno, node.end_lineno or node.lineno) for node in nodes]
    return {line: end for first, end in spans for line in range(first, end + 1)}


def _contains(outer: Site, inner: Site) -> bool:
    """Return whether an expression is a part of another one, and so evaluated before it."""
    return code(inner, inner.expression) in code(outer, outer.expression)


def _remedy(advice: str, otherwise: str, write: Site) -> Words:
    """Return the advice of a rule: with the target and operator of an assignment, or the out-of-place function."""
    if "{function}" in advice:
        plain = _plain(write)
        part = _is_part(getattr(write.expression, "func", None))
        advice = advice.replace("{function}", plain) if plain and not part else otherwise
    if advice.startswith(_RESULT_COUNTS) and _is_statement(write):
        advice += _ASSIGNED
    if isinstance(write.expression, cst.AugAssign):
        target = code(write, write.expression.target)
        advice = advice.replace("{target}", target).replace("{operator}", code(write, write.node)[:-1])
    return (advice,) if advice else ()


def _plain(write: Site) -> str:
    """Return what to call instead of an in-place method, or nothing for one such as ``fill_``."""
    function = getattr(write.expression, "func", None)
    name = getattr(getattr(function, "attr", function), "value", "")
    if not isinstance(name, str) or not name.endswith("_"):
        return "the out-of-place form"
    plain = name.removesuffix("_")
    return f"`{plain}`" if plain in facts.tensor_methods() else ""


def _is_part(function: cst.CSTNode | None) -> bool:
    """Return whether a method is one of a view that nothing else has: ``x[0].add_``, ``x.diagonal().fill_``."""
    receiver = function.value if isinstance(function, cst.Attribute) else None
    if isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
        ops = facts.lookup(f"Tensor.{receiver.func.attr.value}")
        return any(out.kind in _VIEWS for op in ops for out in op.outs)
    return isinstance(receiver, cst.Subscript)


def _is_statement(site: Site) -> bool:
    """Return whether nothing takes the result of a call, or only in-place methods: ``x.mul_(2).add_(1)``."""
    origin = site.piece.tree.origins.get(site.expression)
    for node in (node for part in site.piece.body or () for node in ast.walk(part) if isinstance(node, ast.Expr)):
        value: ast.expr | None = node.value
        while value is not None and value is not origin:
            function = value.func if isinstance(value, ast.Call) else None
            value = function.value if isinstance(function, ast.Attribute) and function.attr.endswith("_") else None
        if value is not None:
            return True
    return False


def _hands_back(write: Site) -> bool:
    """Return whether the function that writes returns a value; other code is no function."""
    nodes = [node for part in write.piece.body or () for node in ast.walk(part)]
    return any(isinstance(node, ast.Return) and node.value is not None for node in nodes)


def _dropping(remedy: Words, module: Site, write: Site, site: Site, files: Files) -> Words:
    """Return the remedy for a module that writes in place, with the line of its ``inplace=True``."""
    args = module.expression.args if isinstance(module.expression, cst.Call) else ()
    flag = next((arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "inplace"), None)
    built = files.related(type(module)(module.piece, flag or module.node, module.expression), "built here", site)
    return (*remedy, " on ", built) if flag is not None else remedy


def of_refusal(refusal: Refusal, rule: Rule, site: Site, files: Files) -> Finding:
    """Return the finding for a write that is wrong in itself. ``site`` is where it stands."""
    write, other = refusal.write, refusal.other
    about: Words = ()
    if other is not None and rule.other and not _is_same(other, site):
        what = _named(rule, other)
        about = (f" ({what} on ", files.related(other, f"{what} here", site), ")")
    elif other is not None and rule.kind == "read":
        about = (" (read on the same line)",)
    end = f": {rule.effect}" if rule.effect else ""

    def headline(room: int) -> Words:
        return (*_subject(write, site, files, room), f" {rule.message}", *about, end)

    advice = rule.carrying if refusal.carries and rule.carrying else rule.advice
    if refusal.array:
        advice = advice.replace("clone()", "copy()")
    needed = conditions_of(refusal.needs, site, files)
    return Finding(rule.code, place_of(site), _fitting(headline), None, _remedy(advice, rule.part, write), needed)


def _named(rule: Rule, other: Site) -> str:
    """Return what happens at the other place, with the name under which a value is read, if it has one."""
    if isinstance(other.expression, (cst.FunctionDef, cst.ClassDef)) and rule.head:
        return rule.head
    named = isinstance(other.expression, (cst.Name, cst.Attribute, cst.Subscript))
    name = excerpt(other, LONGEST // 2) if named else ""
    return rule.other.replace("{name}", f"`{name}`") if name else rule.other.removesuffix(" as {name}")


def _is_same(one: Site, other: Site) -> bool:
    """Return whether two places are one to a reader."""
    return one.expression is other.expression or (
        one.piece.path == other.piece.path and place_of(one) == place_of(other)
    )


def conditions_of(needs: Iterable[Need], site: Site, files: Files) -> tuple[str, ...]:
    """Return in words what a finding at ``site`` needs besides a backward, in the order of the text."""
    places = {_condition(need, site, files): place_of(need.site) if need.site else Place(0, 0) for need in needs}
    return tuple(sorted(places, key=lambda words: (places[words], words)))


def _condition(need: Need, site: Site, files: Files) -> str:
    if need.kind == "device cuda":
        return "on CUDA"
    if need.kind == "pandas":
        return "before pandas 3"
    if need.kind == "shared":
        return "if another operator gets the same gradient"
    if need.kind == "possible":
        return "if code that is not shown does so"
    if need.kind == "grad":
        name = _given_name(need.site)
        return f"if {name} requires grad" if name else "if an argument requires grad"
    if need.site is None:
        return "on some paths"
    test = need.site.expression
    text = test.name.value if isinstance(test, cst.Param) else code(need.site, test)
    if need.kind == "same":
        return f"if `{text}` is no copy" if isinstance(test, cst.Param) else f"if `{text}` makes no copy"
    if len(text) <= LONGEST:
        return f"{need.kind} `{text}`"
    return f"in one arm of the `if` on {files.related(need.site, '', site)}"


def _given_name(site: Site | None) -> str:
    """Return what the program calls a tensor that was given, if it has a name for it."""
    expression = site.expression if site is not None else None
    if isinstance(expression, cst.Param):
        return f"the argument `{expression.name.value}`"
    if site is not None and isinstance(expression, (cst.Name, cst.Attribute)):
        return f"`{code(site, expression)}`"
    return ""


def place_of(site: Site) -> Place:
    return site.piece.tree.place(site.node)


def excerpt(site: Site, longest: int) -> str:
    """Return an expression on one short line, and an assignment to a part of a tensor as one."""
    text = code(site, site.expression)
    end = " = ..." if isinstance(site.expression, cst.Subscript) and site.node is site.expression.lbracket else ""
    room = longest - len(end)
    return (text if len(text) <= room else text[: room - 3] + "...") + end


def code(site: Site, node: cst.CSTNode) -> str:
    """Return the text of a node on one line."""
    return " ".join(site.piece.tree.text(node).split()).replace("`", "'")
