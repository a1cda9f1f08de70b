"""Lays the linter's findings beside torch's verdict, for one program."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from flake8_inplace.analysis import analyze

from . import oracle

SAVED_FAMILY = "TIP1"
REFUSED_FAMILY = "TIP2"
STEP = "optimizer step"


@dataclass(frozen=True)
class Compared:
    """`kind` is agree, missed, false alarm, crash (of the linter), or discarded (torch raised something else)."""

    kind: str
    verdict: oracle.Verdict
    flagged: tuple[tuple[int, str], ...] = ()
    """Line and code of every finding, of all families."""
    saved: frozenset[int] = frozenset()
    """Where the findings say that the overwritten tensors were saved."""
    note: str = ""

    @property
    def lines(self) -> frozenset[int]:
        return frozenset(line for line, code in self.flagged if code.startswith(SAVED_FAMILY))

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(code for _, code in self.flagged)


def compare(source: str) -> Compared:
    verdict = oracle.judge(source)
    if verdict.outcome == "error":
        return Compared("discarded", verdict)
    try:
        result = analyze(source)
    except Exception as error:
        return Compared("crash", verdict, note=f"{type(error).__name__}: {error}")
    if result.problem is not None:
        return Compared("crash", verdict, note=result.problem[1])
    here = [f for f in result.findings if "on CUDA" not in f.conditions]  # torch runs on the CPU
    flagged = tuple(sorted((f.line, f.code) for f in here))
    saved = frozenset(f.saved_at.line for f in result.findings if f.saved_at is not None)
    return Compared(kind_of(verdict, {code[:4] for _, code in flagged}), verdict, flagged, saved)


def kind_of(verdict: oracle.Verdict, families: set[str]) -> str:
    """A program that torch stopped early says nothing of the other family.

    That a base was modified, torch says when its view is used, and also in the backward that saved the view.
    """
    if verdict.outcome == "clean":
        return "false alarm" if families & {SAVED_FAMILY, REFUSED_FAMILY} else "agree"
    right = {SAVED_FAMILY} if verdict.outcome == "saved" else {REFUSED_FAMILY}
    if oracle.BASE in verdict.message:
        right.add(SAVED_FAMILY)
    return "agree" if families & right else "missed"


@dataclass(frozen=True)
class Lines:
    """How well the flagged lines of one raising program name the writes."""

    overwritten: int
    """Saved tensors that were overwritten."""
    named: int
    """Of these, how many have a write on a flagged line (or a call on one that leads to it)."""
    flagged: int
    right: int
    """Of the flagged lines, how many hold such a write or call."""


def compare_lines(source: str, flagged: frozenset[int]) -> Lines:
    found = oracle.trace(source)
    true = [{line for write in o.writes for line in write.lines} for o in found]
    every = set().union(*true)
    return Lines(len(found), sum(bool(lines & flagged) for lines in true), len(flagged), len(every & flagged))


def cause(source: str, compared: Compared) -> str:
    """A rough key for what a (minimised) disagreement is about: the write, the save, the statements around."""
    tree = ast.parse(source)
    if compared.verdict.outcome == "refused":
        return f"{compared.kind} | {compared.verdict.message[:80]}"
    if compared.kind == "missed":
        found = oracle.trace(source)
        writes = {write.lines[0] for o in found for write in o.writes if write.lines}
        saves = {o.saved.lines[0] for o in found if o.saved.lines}
    elif compared.kind == "false alarm":
        writes, saves = {line for line, code in compared.flagged if code[:4] != "TIP3"}, set(compared.saved)
    else:
        return f"{compared.kind} | {compared.note}"
    around = " ".join(sorted(structures(tree))) or "straight line"
    if any(".step(" in source.splitlines()[line - 1] for line in writes):
        return f"{compared.kind} | {STEP} | in {around}"
    said = [", ".join(sorted({describe(tree, line) for line in lines})) for lines in (writes, saves)]
    codes = " ".join(sorted(code for code in compared.codes)) + " " if compared.kind == "false alarm" else ""
    return f"{compared.kind} | {codes}write {said[0]} | save {said[1]} | in {around}"


STRUCTURES = {
    ast.For: "for",
    ast.While: "while",
    ast.If: "if",
    ast.IfExp: "ifexp",
    ast.With: "with",
    ast.ClassDef: "class",
    ast.Lambda: "lambda",
    ast.ListComp: "comprehension",
}


def structures(tree: ast.Module) -> set[str]:
    found = {STRUCTURES[type(node)] for node in ast.walk(tree) if type(node) in STRUCTURES}
    if sum(isinstance(node, ast.FunctionDef) for node in ast.walk(tree)) > 1:
        found.add("def")
    if ast.unparse(tree).count(".backward(") > 1:
        found.add("two backwards")
    return found


def describe(tree: ast.Module, line: int) -> str:
    """The statement on a line: how it writes, and what it calls."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or node.lineno != line:
            continue
        calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
        names = [called(tree, f) for f in calls]
        names += [type(n.op).__name__ for n in ast.walk(node) if isinstance(n, ast.BinOp)]
        if isinstance(node, ast.AugAssign):
            slot = "x[...] " if isinstance(node.target, ast.Subscript) else ""
            return f"{slot}aug{type(node.op).__name__}({' '.join(names)})"
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            return f"x[...] = {' '.join(names)}"
        return " ".join(names) or type(node).__name__
    return "?"


def called(tree: ast.Module, function: ast.expr) -> str:
    """What is called; for a module kept in a variable or an attribute, its class."""
    name = ast.unparse(function)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        if name in {ast.unparse(target) for target in node.targets}:
            return called(tree, node.value.func)
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "?")
