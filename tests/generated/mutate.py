"""Real code, changed at random: programs that nobody would write, of the pieces of those that somebody wrote."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable

#: In-place writes, saves and backwards, of the names of the file.
STATEMENTS = (
    *("{a} += {b}", "{a} @= {b}", "{a}[{b}] = {c}", "{a}[...] -= {b}", "{a}[:, {b}:] *= {c}", "{a}.data = {b}"),
    *("{a}.mul_({b})", "{a}.{b}.add_({c})", "{a}.view(-1)[0] = {b}", "torch.relu_({a})", "torch.exp({a}, out={b})"),
    *("{a} = torch.sigmoid({b})", "{a} = {b}.exp() * {c}", "{a} = torch.nn.Parameter({b})", "{a}, *{b} = {c}"),
    *("{a} = torch.nn.ReLU(inplace=True)({b})", "{a} = [{b}.view(-1) for {b} in {c}]", "{a} = {b} if {c} else {a}"),
    *("{a}.backward(retain_graph={b})", "torch.autograd.grad({a}, {b})", "optimizer.step({a})", "del {a}, {b}[0]"),
    *("{a}.append({b})", "{a}.update({b}={c})", "{a} = {a}({b})", "{a} = lambda *{b}: {b}[0].zero_()", "{a}.{b} = {c}"),
    *("return {a}", "yield {a}", "raise {a}", "break", "continue", "global {a}", "import {a}, {b}.{c} as {c}"),
    *(
        "{a} = {a}.T + {a}.detach() + {a}.data",
        "{a} = {a}[::2], {a}, {{**{b}}}, {{{a}: {c}}}",
        "{a}: torch.Tensor = {b}",
    ),
)
ATTRIBUTES = (
    *("add_", "relu_", "zero_", "data", "grad", "T", "view", "expand", "detach", "exp", "unbind", "copy_", "numpy"),
    *("requires_grad_", "step", "forward", "backward", "clone", "shape", "append", "items", "__class__", "fill_"),
)
CONSTANTS: tuple[object, ...] = (0, 1, -1, 10**40, 1e308, 2j, True, None, ..., "", "weight", b"\x00", "\ud800")
WRAPPERS = (
    *("if {a}: pass", "for {a} in {b}: pass", "for {a} in range(3): pass", "while {a}: pass", "with {a} as {b}: pass"),
    *("with torch.no_grad(): pass", "def {a}({b}, *{c}, **{d}): pass", "class {a}(torch.nn.Module): pass"),
    *("try: pass\nexcept {a} as {b}: pass\nelse: pass\nfinally: pass", "match {a}:\n    case [{b}, *{c}]: pass"),
    *("async def {a}(self, {b}={c}): pass", "try: pass\nexcept* {a}: pass", "@{a}\ndef {b}({c}, /, {d}=0): pass"),
)


def mutant(source: str, rng: random.Random, statements: int = 40) -> str:
    """Some of the top-level statements of a program, changed in a few places; the text may be no Python any more."""
    tree = ast.parse(source)
    if len(tree.body) > 1:
        start = rng.randrange(len(tree.body))
        imports = [node for node in tree.body[:start] if isinstance(node, ast.Import | ast.ImportFrom)]
        tree.body = imports + tree.body[start : start + rng.randint(1, statements)]
    tree.body.insert(0, ast.Import([ast.alias("torch")]))
    for _ in range(rng.randint(1, 8)):
        rng.choice(EDITS)(tree, rng)
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return rng.choice(LAYOUTS)(text, rng) if rng.random() < 0.3 else text


# Edits of the tree


def names(tree: ast.Module, rng: random.Random) -> dict[str, str]:
    found = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}) or ["x"]
    return {letter: rng.choice(found) for letter in "abcd"}


def blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    fields = (value for node in ast.walk(tree) for _, value in ast.iter_fields(node))
    return [value for value in fields if isinstance(value, list) and value and isinstance(value[0], ast.stmt)]


def insert(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(blocks(tree))
    statement = ast.parse(rng.choice(STATEMENTS).format(**names(tree, rng))).body[0]
    body.insert(rng.randint(0, len(body)), statement)


def wrap(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(blocks(tree))
    outer = ast.parse(rng.choice(WRAPPERS).format(**names(tree, rng)))
    start = rng.randrange(len(body))
    end = rng.randint(start + 1, len(body))
    rng.choice(blocks(outer)[1:])[:] = body[start:end]
    body[start:end] = outer.body


def drop(tree: ast.Module, rng: random.Random) -> None:
    body = rng.choice(blocks(tree))
    if len(body) > 1:
        del body[rng.randrange(len(body))]


def repeat(tree: ast.Module, rng: random.Random) -> None:
    one, other = rng.choice(blocks(tree)), rng.choice(blocks(tree))
    other.insert(rng.randint(0, len(other)), copy.deepcopy(rng.choice(one)))


def rename(tree: ast.Module, rng: random.Random) -> None:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if found:
        rng.choice(found).id = rng.choice(found).id


def attribute(tree: ast.Module, rng: random.Random) -> None:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    if found:
        rng.choice(found).attr = rng.choice(ATTRIBUTES)


def expression(tree: ast.Module, rng: random.Random) -> None:
    """Put one expression of the program, or a constant, in the place of another."""
    slots: list[Callable[[ast.expr], None]] = []
    values: list[ast.expr] = [ast.Constant(rng.choice(CONSTANTS))]  # type: ignore[arg-type]
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            for index, item in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load):
                    values.append(item)
                    slots.append(slot(node, name, index if isinstance(value, list) else None))
    if slots:
        rng.choice(slots)(copy.deepcopy(rng.choice(values)))


def slot(node: ast.AST, name: str, index: int | None) -> Callable[[ast.expr], None]:
    def put(value: ast.expr) -> None:
        if index is None:
            setattr(node, name, value)
        else:
            getattr(node, name)[index] = value

    return put


EDITS = (insert, insert, insert, wrap, wrap, drop, repeat, rename, attribute, expression, expression)


# Edits of the text


def anywhere(what: str) -> Callable[[str, random.Random], str]:
    """Put characters somewhere between, or inside, the lines."""

    def layout(text: str, rng: random.Random) -> str:
        place = rng.randint(0, len(text))
        if rng.random() < 0.5:
            place = text.rfind("\n", 0, place) + 1
        return text[:place] + what + text[place:]

    return layout


LAYOUTS: tuple[Callable[[str, random.Random], str], ...] = (
    lambda text, rng: text.replace("\n", "\r\n"),
    lambda text, rng: text.replace("\n", "\r"),
    lambda text, rng: text.replace("    ", "\t"),
    lambda text, rng: text.replace("\n", " # \x0c\x0b\x1c\x85\u2028 é\n"),
    lambda text, rng: text.replace("\n", "; pass\n"),
    lambda text, rng: text.replace("\n", "\n\n\x0c\n"),
    lambda text, rng: text.replace("(", "( # (\n", 1),
    lambda text, rng: text.rstrip("\n"),
    *map(anywhere, ("\x0c", "\x0b", "\x1c", "\u2028", "\\\n", "\t", "#\n", "'", '"""', "\x00", "é = é; ", "\ud800")),
)
