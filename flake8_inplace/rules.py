"""The rules: code, name, message. The only room where a code is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .finding import Finding, Place

if TYPE_CHECKING:
    import libcst as cst

    from .program.site import Site
    from .trace.reports import Hazard, Refusal


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``form`` is the form of writing that it reports, ``family`` what has to be switched on for it.

    ``fix`` is the best grade that `flake8-inplace fix` gives: "safe", "unsafe" or "never". The page argues it.
    """

    code: str
    name: str
    summary: str
    form: str = ""
    family: str = ""
    fix: str = "unsafe"

    @property
    def default_on(self) -> bool:
        return not self.family

    def page(self) -> str:
        """Its documentation, as Markdown."""
        return (PAGES / f"{self.code}.md").read_text("utf-8")


_ALL = (
    Rule("TIP000", "unreadable", "this file could not be analysed", fix="never"),
    Rule("TIP101", "saved-tensor-method", "an in-place method overwrites a saved tensor", "op_", fix="safe"),
    Rule("TIP102", "saved-tensor-inplace-argument", "`inplace=True` overwrites a saved tensor", "inplace", fix="safe"),
    Rule(
        "TIP103", "saved-tensor-augmented", "an augmented assignment overwrites a saved tensor", "augmented", fix="safe"
    ),
    Rule(
        "TIP104",
        "saved-tensor-subscript",
        "an index or slice assignment overwrites a saved tensor",
        "subscript",
        fix="safe",
    ),
    Rule("TIP105", "saved-tensor-out", "`out=` overwrites a saved tensor", "out"),
    Rule("TIP106", "parameter-update", "parameters are updated between a forward and its backward", "step"),
    Rule("TIP107", "saved-tensor-callee", "a called function overwrites a tensor that its caller had saved"),
    Rule("TIP201", "leaf", "an in-place write to a leaf that requires grad", "leaf"),
    Rule("TIP202", "leaf-view", "an in-place write to a view of a leaf that requires grad", "leaf view"),
    Rule("TIP203", "multi-output-view", "an in-place write to an output of split, chunk, unbind or iteration", "views"),
    Rule("TIP204", "expanded", "an in-place write to expanded memory", "expand", fix="safe"),
    Rule("TIP205", "no-grad-view", "a view made under no_grad is written with grad mode on", "no_grad"),
    Rule("TIP206", "detach-view", "`detach_()` on a view", "detach", fix="safe"),
    Rule("TIP207", "out-with-grad", "`out=` with an argument that requires grad", "out grad"),
    Rule(
        "TIP208",
        "overlapping-operand",
        "an in-place operator reads its own memory in another order",
        "overlap",
        fix="safe",
    ),
    Rule("TIP209", "backward-hook", "an in-place write beside a module with a full backward hook", "hook"),
    Rule("TIP210", "inference-tensor", "a tensor made in inference mode is written outside of it", "inference"),
    Rule("TIP211", "unbatched", "a batched value is written to an unbatched tensor under `vmap`", "vmap", fix="never"),
    Rule("TIP212", "split-base", "the base of several views is written before one of them is used", "base"),
    Rule("TIP213", "custom-function-view", "a view that a custom function returned is written in place", "custom"),
    Rule("TIP301", "saved-tensor-data", "`.data` overwrites a saved tensor without the version counter", "data"),
    Rule("TIP302", "saved-tensor-numpy", "a numpy array overwrites the memory of a saved tensor", "numpy"),
    Rule("TIP303", "stale-read", "a value is read after it was overwritten under another name", "read"),
    Rule("TIP304", "callers-tensor", "a function overwrites a tensor that its caller goes on to read", "argument"),
    Rule("TIP305", "discarded-result", "the result of an out-of-place method is thrown away", "discarded"),
    Rule("TIP306", "overlapping-shift", "a tensor is overwritten with an overlapping part of itself", "shift"),
    Rule(
        "TIP307",
        "state-by-reference",
        "a model or its `state_dict()` is kept without a copy while training goes on",
        "snapshot",
    ),
    Rule("TIP308", "dataset-element", "`__getitem__` changes in place what the dataset keeps", "dataset"),
    Rule(
        "TIP309",
        "expanded-mask",
        "a masked or indexed write to expanded memory changes every row that shares it",
        "expanded",
    ),
    Rule(
        "TIP310",
        "fused-step",
        "a fused optimizer updates parameters between a forward and its backward",
        "fused",
    ),
    Rule("TIP311", "hooked-save", "a saved tensor that hooks keep without a copy is overwritten", "hooked"),
    Rule(
        "TIP312",
        "rescaled-data",
        "a computed tensor is changed through `.data`, and its gradient misses that",
        "rescaled",
        fix="never",
    ),
    Rule(
        "TIP313",
        "checkpointed-update",
        "a checkpointed function updates a buffer, and does so again in the backward",
        "again",
        fix="never",
    ),
    Rule("TIP401", "dirty-input", "a custom forward overwrites its input without `mark_dirty`", "dirty"),
    Rule(
        "TIP402",
        "grad-output",
        "a custom backward, or a hook, overwrites the gradient that it was given",
        "grad_output",
    ),
    Rule("TIP403", "saved-in-backward", "a custom backward overwrites an input or result of its forward", "saved"),
    Rule("TIP404", "context-attribute", "a tensor kept as an attribute of `ctx` is overwritten", "ctx"),
    Rule(
        "TIP501",
        "possibly-saved",
        "a tensor that code not shown here may have saved is overwritten",
        "argument of",
        "possible",
        fix="never",
    ),
    Rule(
        "TIP502",
        "possibly-overwritten",
        "code not shown here may overwrite a saved tensor",
        "possible",
        "possible",
        fix="never",
    ),
    Rule("TIP901", "in-place-method", "an in-place method or function", "style op_", "style", fix="never"),
    Rule("TIP902", "in-place-argument", "`inplace=True`", "style inplace", "style", fix="never"),
    Rule(
        "TIP903",
        "in-place-augmented",
        "an augmented assignment to a tensor that may require grad",
        "style augmented",
        "style",
        fix="never",
    ),
    Rule(
        "TIP904",
        "in-place-compiled",
        "an in-place write under vmap, torch.compile or jit.script",
        "style compiled",
        "style",
        fix="never",
    ),
    Rule(
        "TIP905", "no-such-method", "an in-place method that tensors do not have", "style missing", "style", fix="never"
    ),
)
RULES = {rule.code: rule for rule in _ALL}
"""Every rule by its code."""
PREFIX = "TIP"

_PACKED = Path(__file__).with_name("pages")
PAGES = _PACKED if _PACKED.is_dir() else Path(__file__).parents[1] / "docs" / "rules"
"""The folder with a page for each rule: packed into the wheel, in a checkout where it is written."""

_CALLED = RULES["TIP107"]
_BY_FORM = {rule.form: rule for rule in _ALL if rule.form} | {"renorm": RULES["TIP101"]}

LEAF_FORMS = ("leaf", "leaf view")
UPDATES = ("step", "fused")

UNREADABLE = RULES["TIP000"]
"""What is reported where a file, or a part of it, could not be read."""

_ADVICE = {
    "op_": "call the out-of-place form and use its result",
    "inplace": "drop `inplace=True` here",
    "augmented": "write `{target} = {target} {operator} ...` instead",
    "subscript": "write to a `clone()`, or build the tensor with `torch.where`, `torch.cat` or `torch.stack`",
    "out": "let the operator return a new tensor",
    "step": "update after every backward that needs the old values, or run the forward again",
    "fused": "a fused step leaves the version counter as it is, and the gradient will be wrong without an error",
    "possible": "call the out-of-place form, if it has one",
    "data": "the gradient will be wrong without an error; use the out-of-place form",
    "numpy": "the gradient will be wrong without an error; copy the array first",
    "renorm": "look the embedding up before its weight is used, or use a `clone()` of the weight",
}


_SILENT = frozenset({"read", "argument", "again", "dataset", "discarded", "rescaled", "shift", "snapshot"})
"""Kinds that give way to an error that the same write leads to."""
_STYLE = frozenset(rule.form for rule in _ALL if rule.form.startswith("style"))
_UNSEEN = _SILENT | {"expanded", "dirty", "saved", "grad_output", "ctx"}
"""Forms that neither PyTorch nor a comparison of saved tensors notices when the program runs."""
_REFUSED = {
    "leaf": "is an in-place write to a leaf that requires grad, which torch refuses; do it under `torch.no_grad()`",
    "leaf view": "writes to a view of a leaf that requires grad, which torch refuses; do it under `torch.no_grad()`",
    "views": "writes to one of several views of a tensor (split, chunk, unbind or iteration), which torch refuses; "
    "index the tensor, or `clone()` the view",
    "hook": "writes to what goes into or comes out of a module with a full backward hook, which torch refuses; "
    "use the out-of-place form",
    "custom": "writes to a view that a custom function returned, which torch refuses; use the out-of-place form, or "
    "return a `clone()`",
    "expand": "writes to expanded memory, where several elements are one, which torch refuses; `clone()` it first",
    "no_grad": "writes, with grad mode on, to a view made under `no_grad`, which torch refuses; `clone()` the view",
    "detach": "detaches a view in place, which torch refuses; use `detach()`",
    "out": "has `out=` and an argument that requires grad, which torch refuses; let it return a new tensor",
    "overlap": "reads the memory that it overwrites in another order, which torch refuses; `clone()` the operand",
    "read": "overwrites a value that is read afterwards under another name, silently; use the out-of-place form, or "
    "`clone()` what is kept",
    "argument": "overwrites a tensor of the caller, who goes on to read it, silently; work on a `clone()`",
    "dataset": "changes what the dataset keeps, again in every epoch, silently; work on a `clone()`",
    "expanded": "writes to memory that several rows or elements share, and so to all of them, silently; make each of "
    "them a `clone()`",
    "vmap": "writes a batched value to a tensor without a batch, which `vmap` refuses; make it with `new_zeros` or "
    "`zeros_like` of a batched one",
    "rescaled": "changes, past autograd, a tensor that the loss is computed from; its gradient misses that",
    "style op_": "writes in place; call the out-of-place form and use its result",
    "style inplace": "writes in place; drop `inplace=True`",
    "style augmented": "writes in place to a tensor that may require grad; write `x = x + y`",
    "style compiled": "writes in place under vmap, torch.compile or torch.jit.script; use the out-of-place form",
    "style missing": "is no method of a tensor; use the out-of-place form",
    "base": "writes to what was split into several views, of which one is used afterwards, which torch refuses; write "
    "before the split, or to a `clone()`",
    "shift": "reads an overlapping part of what it overwrites, some of it afterwards, silently; `clone()` the source",
    "snapshot": "leaves nothing to go back to: the model or `state_dict()` that is used later refers to the parameters "
    "that training overwrites; keep a `copy.deepcopy`",
    "again": "updates a buffer in a checkpointed function, which runs again in the backward, silently; update it "
    "outside",
    "discarded": "changes nothing, and its result is thrown away; use the in-place method, or the result",
    "inference": "writes, outside inference mode, to a tensor made inside it, which torch refuses; `clone()` it first",
    "dirty": "overwrites an input of a custom function without `ctx.mark_dirty`; autograd goes on with its old history",
    "saved": "overwrites, in backward, a tensor that its forward was given or returned; compute a new tensor",
    "grad_output": "overwrites a gradient that others may still use, silently; compute a new tensor",
}


def shows_at_run_time(finding: Finding) -> bool:
    """Whether a run of the reported line can tell if the finding is right."""
    return RULES[finding.code].form not in _UNSEEN


def findings(hazards: Iterable[Hazard], refusals: Iterable[Refusal] = ()) -> list[Finding]:
    """One finding for every overwriting place, in the order of the text; the nearest save speaks for it.

    What is only possible gives way to what is sure; a ban stands beside both.
    """
    sure: list[Hazard] = []
    possible: list[Hazard] = []
    plain: list[Refusal] = []
    style: list[Refusal] = []
    for hazard in hazards:
        (possible if hazard.saved.possible or hazard.write.form == "possible" else sure).append(hazard)
    for refusal in refusals:
        (style if refusal.kind in _STYLE else plain).append(refusal)
    found = _one_each(sure, plain)
    for place, finding in _one_each(possible, []).items():
        found.setdefault(place, finding)
    return sorted([*found.values(), *_one_each([], style).values()], key=lambda finding: (finding.place, finding.code))


def _one_each(hazards: list[Hazard], refusals: list[Refusal]) -> dict[Place, Finding]:
    loud = {hazard.write.place.expression for hazard in hazards}
    loud |= {refusal.write.expression for refusal in refusals if refusal.kind not in _SILENT}
    written = loud | {refusal.write.expression for refusal in refusals}
    best: dict[Place, tuple[tuple[bool, int, str], Finding]] = {}
    for hazard in hazards:
        if continues(hazard.write.place, loud):
            continue
        finding = report(hazard)
        saved = finding.saved_at or finding.place
        distance = abs(finding.line - saved.line) * 1000 + abs(finding.column - saved.column)
        rank = (finding.code == _CALLED.code, distance, finding.message)
        if finding.place not in best or rank < best[finding.place][0]:
            best[finding.place] = (rank, finding)
    for refusal in refusals:
        if continues(refusal.write, written):
            continue
        finding = report_refusal(refusal)
        if refusal.kind not in _SILENT or finding.place not in best:
            best[finding.place] = ((False, 0, ""), finding)
    return {place: finding for place, (_, finding) in best.items()}


def report(hazard: Hazard) -> Finding:
    """The finding for a stale save."""
    site: Site = _step_around(hazard) or hazard.write.place
    origin: Site = hazard.saved.place
    place, saved_at = site.piece.tree.place(site.node), origin.piece.tree.place(origin.node)
    rule, form, call = _BY_FORM[hazard.write.form], hazard.write.form, hazard.callee()
    where = above(place, saved_at)
    slot = "its result" if hazard.saved.slot == "result" else f"`{hazard.saved.slot}`"
    advice = _ADVICE[form]
    if form == "augmented":
        target = getattr(site.expression, "target", site.expression)
        advice = advice.format(target=code(site, target), operator=code(site, site.node)[:-1])
    text = f"`{excerpt(site)}`"
    if call is not None and form not in (*UPDATES, "data", "numpy"):
        rule, text = _CALLED, f"{text}, reached by `{excerpt(call)}`,"
    if hazard.saved.slot.startswith("ctx."):
        rule, advice = _BY_FORM["ctx"], "autograd does not watch it there; keep it with `ctx.save_for_backward`"
        message = f"{text} overwrites what {hazard.saved.op} keeps as `{hazard.saved.slot}` ({where}); {advice}"
    elif hazard.saved.hooked:
        rule, advice = _BY_FORM["hooked"], "the hooks do not copy, and hide the change; pack a `clone()`"
        message = f"{text} overwrites a tensor that {hazard.saved.op} saved ({slot}, {where}) through hooks; {advice}"
    elif hazard.saved.possible:
        rule, message = _BY_FORM["argument of"], f"{text} overwrites what a call ({where}) may have saved; {advice}"
    elif form == "possible":
        message = f"{text} may overwrite a tensor that {hazard.saved.op} saved ({slot}, {where}); {advice}"
    elif form in UPDATES:
        message = f"{text} updates a parameter that {hazard.saved.op} saved ({where}) for a later backward; {advice}"
    else:
        message = f"{text} overwrites a tensor that {hazard.saved.op} saved ({slot}, {where}); {advice}"
    return Finding(rule.code, place, message, saved_at)


def _step_around(hazard: Hazard) -> Site | None:
    """The call of a ``step`` of the file, such as that of a class around optimizers, that made an optimizer step."""
    call = hazard.callee() if hazard.write.form == "step" else None
    if call is None:
        return None
    name = getattr(getattr(call.expression, "func", None), "attr", None)
    again = any(saving.expression is call.expression for saving in hazard.saved.calls)  # it trains, round after round
    return call if getattr(name, "value", "") == "step" and not again else None


def continues(site: Site, written: set[cst.CSTNode]) -> bool:
    """Whether a write is the next link of a chain whose link before is a finding already: ``x.mul_(2).add_(1)``."""
    function = getattr(site.expression, "func", None)
    return getattr(function, "value", None) in written


def report_refusal(refusal: Refusal) -> Finding:
    """The finding for a write that is wrong in itself."""
    rule = _BY_FORM["out grad" if refusal.kind == "out" else refusal.kind]
    site = refusal.write
    return Finding(rule.code, site.piece.tree.place(site.node), f"`{excerpt(site)}` {_REFUSED[refusal.kind]}")


def above(place: Place, saved: Place) -> str:
    """Where the save stands, seen from the write."""
    lines = place.line - saved.line
    if lines == 0:
        return "on this line"
    word = "line" if abs(lines) == 1 else "lines"
    return f"{lines} {word} above" if lines > 0 else f"{-lines} {word} below, but earlier in the run"


def excerpt(site: Site) -> str:
    """The overwriting expression in one short line."""
    text = code(site, site.expression)
    return text if len(text) <= 44 else text[:41] + "..."


def code(site: Site, node: cst.CSTNode) -> str:
    """The text of a node on one line."""
    return " ".join(site.piece.tree.text(node).split()).replace("`", "'")
