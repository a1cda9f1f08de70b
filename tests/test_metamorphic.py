"""Programs that mean the same get the same findings.

Every program of tests/cases, tests/flow and tests/programs is rewritten so that its meaning stays. Each finding has to
stay too: the same code at the same statement. Both the program and its variant go through `ast.unparse`, so comments
and layout play no part. A statement has a number; the statements that a rewriting makes of it share that number.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

import pytest
from test_cases import CASES
from test_flow import BLOCKS
from test_programs import IMPORTS, Program, is_wrong, programs

from flake8_inplace.analysis import analyze

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DECLARATIONS = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
SCOPED = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
REFLECTION = {"locals", "vars", "exec", "eval", "globals", "dir"}

Finding = tuple[str, int]


# Programs and what is found in them

SPELLED = {"regions", "modes", "operands", "aliases", "arguments", "options", "datasets"}
"""Pages whose programs are the spellings of one another already."""


def varied() -> list[Program]:
    return [program for program in programs() if program.file not in SPELLED]


@dataclass
class Sites:
    """The places that a transformation may change, counted as they are met: those in ``wanted``, or all, are."""

    wanted: frozenset[int] | None = None
    met: int = 0
    names: int = 0

    def take(self) -> bool:
        self.met += 1
        return self.wanted is None or self.met - 1 in self.wanted

    def fresh(self, start: str = "named") -> str:
        """A name that no program has."""
        self.names += 1
        return f"{start}_{self.names}"


Transformation = Callable[[ast.Module, Sites], None]


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def numbered(source: str) -> ast.Module:
    """The tree of a program; each statement has its number in it."""
    tree = ast.parse(source)
    for number, node in enumerate(statements(tree)):
        node.number = number
    return tree


def like(old: ast.stmt, new: ast.stmt) -> ast.stmt:
    """Give a new statement, and all in it that has none, the number of the old one that it comes from."""
    for node in statements(new):
        if not hasattr(node, "number"):
            node.number = old.number
    return new


def found_in(tree: ast.Module) -> tuple[set[Finding], str]:
    """The findings in a program, each with the number of its statement, and the text of the program."""
    text = ast.unparse(ast.fix_missing_locations(tree))
    spans: list[tuple[int, int, int]] = []
    for mine, written in zip(statements(tree), statements(ast.parse(text)), strict=True):
        assert type(mine) is type(written)
        end = written.end_lineno or written.lineno
        body = getattr(written, "body", None)
        if isinstance(body, list) and body:
            end = max(written.lineno, body[0].lineno - 1)
        spans.append((end - written.lineno, written.lineno, mine.number))
    found = set()
    for finding in analyze(text).findings:
        inside = [span for span in spans if span[1] <= finding.line <= span[1] + span[0]]
        found.add((finding.code, min(inside)[2]))
    return found, text


def parents(tree: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """Every list of statements, with the node and the name of the field that holds it."""
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield node, name, block


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def blocks_of_functions(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements that runs as a part of a function, but for class bodies."""
    seen: set[int] = set()
    for function in functions(tree):
        for node, _, block in parents(function):
            if not isinstance(node, ast.ClassDef) and id(block) not in seen:
                seen.add(id(block))
                yield block


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def has(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    return any(isinstance(child, kinds) for child in ast.walk(node))


def loaded(*nodes: ast.AST) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def bound(node: ast.AST) -> list[str]:
    """The names that something binds, each as often as it does, in whatever scope."""
    found = []
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            found.append(n.id)
        elif isinstance(n, (*DEFINITIONS, ast.ExceptHandler)) and n.name:
            found.append(n.name)
        elif isinstance(n, ast.arg):
            found.append(n.arg)
        elif isinstance(n, ast.alias):
            found.append((n.asname or n.name).split(".")[0])
        elif isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name:
            found.append(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            found.append(n.rest)
        elif isinstance(n, (ast.Global, ast.Nonlocal)):
            found += n.names
    return found


# Transformations


def exchange_arms(tree: ast.Module, sites: Sites) -> None:
    """``if c: A else: B`` becomes ``if not c: B else: A``; so do ``if c: A`` and ``a if c else b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and sites.take():
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = node.orelse or [like(node, ast.Pass())], node.body
        elif isinstance(node, ast.IfExp) and sites.take():
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = node.orelse, node.body


def name_parts(tree: ast.Module, sites: Sites) -> None:
    """Expressions get names of their own where the order of evaluation stays.

    These are the value of an assignment or a ``return``, the test of an ``if``, what a loop goes over, and in each of
    them the operand that is evaluated first.
    """
    for block in [tree.body, *blocks_of_functions(tree)]:
        for index in reversed(range(len(block))):
            node = block[index]
            place = evaluated_first(node)
            made: list[ast.stmt] = []
            while place is not None:
                owner, name = place
                value = getattr(owner, name)
                worth = isinstance(value, (ast.Call, ast.BinOp, ast.Subscript, ast.UnaryOp, ast.Compare, ast.BoolOp))
                if worth and not has(value, *SCOPED) and sites.take():
                    fresh = sites.fresh()
                    made.insert(0, like(node, ast.Assign([ast.Name(fresh, ast.Store())], value, lineno=0)))
                    setattr(owner, name, ast.Name(fresh, ast.Load()))
                    place = first_operand(value)
                else:
                    place = first_operand(value)
            block[index:index] = made


def evaluated_first(node: ast.stmt) -> tuple[ast.AST, str] | None:
    """The expression that a statement evaluates before all else: the node and field that hold it."""
    if isinstance(node, (ast.Assign, ast.Return)) and node.value is not None:
        return node, "value"
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node, "value"
    if isinstance(node, ast.Expr):
        return first_operand(node.value)
    if isinstance(node, ast.If):
        return node, "test"
    if isinstance(node, ast.For):
        return node, "iter"
    return None


def first_operand(node: ast.expr) -> tuple[ast.AST, str] | None:
    """The operand that an expression evaluates first, names apart."""
    if isinstance(node, ast.BinOp):
        return (node, "right") if isinstance(node.left, ast.Name) else (node, "left")
    if isinstance(node, ast.UnaryOp):
        return node, "operand"
    if isinstance(node, ast.Compare):
        return node, "left"
    if isinstance(node, ast.Attribute):
        return node, "value"
    if isinstance(node, ast.Subscript):
        plain = isinstance(node.value, ast.Name) and not has(node.slice, ast.Slice)
        return (node, "slice") if plain else (node, "value")
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            start = node.func
            while isinstance(start.value, ast.Attribute):
                start = start.value
            if not isinstance(start.value, ast.Name):
                return start, "value"
            if start is not node.func or start.value.id not in MODULES:
                return None
        if isinstance(node.func, (ast.Name, ast.Attribute)) and len(node.args) == 1 and not node.keywords:
            return None if isinstance(node.args[0], ast.Starred) else (SoleArgument(node), "value")
    return None


MODULES = {"torch", "F", "nn", "math", "np"}
"""Names through which functions are called: looking one up does nothing else."""


class SoleArgument:
    """The only argument of a call, as a field."""

    def __init__(self, call: ast.Call) -> None:
        self.__dict__["call"] = call

    def __getattr__(self, name: str) -> ast.expr:
        return self.__dict__["call"].args[0]

    def __setattr__(self, name: str, value: ast.expr) -> None:
        self.__dict__["call"].args[0] = value


def name_twice(tree: ast.Module, sites: Sites) -> None:
    """A variable that is bound once gets a second name there, which is used from then on."""
    outer = {id(inner) for function in functions(tree) for inner in functions(function) if inner is not function}
    for function in functions(tree):
        if id(function) in outer or loaded(function) & REFLECTION:
            continue
        names = bound(function)
        given = [arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
        start = int(is_docstring(function.body[0]))
        copies: list[ast.stmt] = []
        for name in given:
            if names.count(name) == 1 and name in loaded(*function.body) and sites.take():
                fresh = sites.fresh(name)
                rename(function.body, name, fresh)
                copies.append(like(function, alias(fresh, name)))
        function.body[start:start] = copies
        for block in [block for node, _, block in parents(function) if not isinstance(node, ast.ClassDef)]:
            for index in reversed(range(len(block))):
                node = block[index]
                if not isinstance(node, ast.Assign) or len(node.targets) != 1 or hasattr(node, "alias"):
                    continue
                target = node.targets[0]
                if isinstance(target, ast.Name) and names.count(target.id) == 1 and sites.take():
                    fresh = sites.fresh(target.id)
                    rename(function.body, target.id, fresh)
                    block.insert(index + 1, like(node, alias(fresh, target.id)))


def alias(fresh: str, name: str) -> ast.Assign:
    made = ast.Assign([ast.Name(fresh, ast.Store())], ast.Name(name, ast.Load()), lineno=0)
    made.alias = True
    return made


def rename(block: list[ast.stmt], name: str, fresh: str) -> None:
    for node in [node for statement in block for node in ast.walk(statement)]:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            node.id = fresh


def wrap(tree: ast.Module, sites: Sites) -> None:
    """Each statement of a function, and each simple one of the module, stands under ``if True:``."""
    blocks = list(blocks_of_functions(tree))
    for block in [tree.body, *blocks]:
        for index, node in enumerate(block):
            plain = not isinstance(node, DECLARATIONS) and not is_docstring(node)
            if plain and not (block is tree.body and isinstance(node, DEFINITIONS)) and sites.take():
                block[index] = like(node, ast.If(ast.Constant(True), [node], []))


def reorder(tree: ast.Module, sites: Sites) -> None:
    """Neighbouring functions and classes of the module stand in reverse order, each after those that it needs."""
    body: list[ast.stmt] = []
    run: list[ast.stmt] = []
    for node in [*tree.body, None]:
        if isinstance(node, DEFINITIONS):
            run.append(node)
            continue
        names = [each.name for each in run]
        body += backwards(run) if len(set(names)) == len(names) > 1 and sites.take() else run
        body += [node] if node is not None else []
        run = []
    tree.body = body


def backwards(run: list[ast.stmt]) -> list[ast.stmt]:
    left, made = {node.name: node for node in reversed(run)}, []
    while left:
        name = next(name for name, node in left.items() if not needed(node) & (left.keys() - {name}))
        made.append(left.pop(name))
    return made


def needed(node: ast.stmt) -> set[str]:
    """The names that running a definition looks up: not those in the bodies of functions."""
    if isinstance(node, ast.ClassDef):
        parts = [*node.decorator_list, *node.bases, *node.keywords]
        return loaded(*parts) | {name for part in node.body for name in needed(part)}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return loaded(*node.decorator_list, node.args, *([node.returns] if node.returns else ()))
    return loaded(node)


def split(tree: ast.Module, sites: Sites) -> None:
    """The second half of a function becomes a function, called with the variables that it reads."""
    body: list[ast.stmt] = []
    for node in tree.body:
        body.append(node)
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in members:
            if isinstance(function, ast.FunctionDef) and (halves := halved(function)) and sites.take():
                start, names = halves
                name = sites.fresh(f"_rest_of_{function.name.strip('_')}")
                rest = function.body[start:]
                args = ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])
                helper = ast.FunctionDef(name, args, rest, [], None, lineno=0, type_params=[])
                call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(each, ast.Load()) for each in names], [])
                function.body[start:] = [like(rest[0], ast.Return(call))]
                body.append(like(function, helper))
    tree.body = body


def halved(function: ast.FunctionDef) -> tuple[int, list[str]] | None:
    """Where the second half of a function begins, and the local variables that it reads; None where it has none."""
    if has(function, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.Delete):
        return None
    first = int(is_docstring(function.body[0]))
    start = first + (len(function.body) - first) // 2
    head, rest = function.body[first:start], function.body[start:]
    if not head or any(has(node, *FUNCTIONS, ast.ClassDef) for node in head):
        return None
    used = {n.id for node in rest for n in ast.walk(node) if isinstance(n, ast.Name)}
    mangled = {n.attr for node in rest for n in ast.walk(node) if isinstance(n, ast.Attribute)} | used
    if used & {"super", "__class__", *REFLECTION} or any(re.match("__.*[^_]$", name) for name in mangled):
        return None
    sure = [arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
    sure += [name for node in head for name in surely_bound(node)]
    maybe = {name for node in head for name in bound_here(node)} - set(sure)
    if used & maybe:
        return None
    return start, [name for name in dict.fromkeys(sure) if name in used]


def bound_here(node: ast.AST) -> list[str]:
    """The names that something binds, those of comprehensions apart."""
    inside = [name for n in ast.walk(node) if isinstance(n, COMPREHENSIONS) for g in n.generators for name in bound(g)]
    return [name for name in bound(node) if name not in inside]


def surely_bound(node: ast.stmt) -> list[str]:
    """The names that a statement binds whatever happens."""
    if isinstance(node, ast.With):
        return [*(name for item in node.items for name in bound_here(item)), *chain(*map(surely_bound, node.body))]
    simple = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom)
    return bound_here(node) if isinstance(node, simple) else []


TRANSFORMATIONS: dict[str, Transformation] = {
    transformation.__name__: transformation
    for transformation in (exchange_arms, name_parts, name_twice, wrap, reorder, split)
}


# Programs


def sources() -> dict[str, str]:
    """Every program by its name."""
    named = [(f"cases/{path.stem}", path.read_text()) for path in CASES]
    named += [
        (f"flow/{block.file.removesuffix('.md')}: {block.heading}", block.source)
        for block in BLOCKS
        if block.file.removesuffix(".md") not in SPELLED
    ]
    named += [(f"programs/{program.file}: {program.heading}", IMPORTS + program.text) for program in varied()]
    found: dict[str, str] = {}
    for name, source in named:
        while name in found:
            name += "'"
        found[name] = source
    return found


SOURCES = sources()


@cache
def original(name: str) -> tuple[str, frozenset[Finding]]:
    """A program in its plain layout, and its findings."""
    tree = numbered(ast.unparse(ast.parse(SOURCES[name])))
    found, text = found_in(tree)
    return text, frozenset(found)


def variant(name: str, how: str, wanted: Iterable[int] | None = None) -> tuple[ast.Module, int]:
    """The program after a transformation, at all places or at those wanted, and how many places there are."""
    tree = numbered(original(name)[0])
    sites = Sites(None if wanted is None else frozenset(wanted))
    TRANSFORMATIONS[how](tree, sites)
    return tree, sites.met


def same(how: str, found: Iterable[Finding]) -> set[Finding]:
    """Findings as they are compared: a write that a called function makes has a code of its own."""
    return {("TIP107" if how == "split" and code in CALLED else code, number) for code, number in found}


CALLED = {"TIP101", "TIP102", "TIP103", "TIP104", "TIP105"}


def difference(name: str, how: str, wanted: Iterable[int] | None = None) -> tuple[set[Finding], set[Finding], str]:
    """The findings that a transformation makes go and come, and the variant."""
    tree, met = variant(name, how, wanted)
    if not met:
        return set(), set(), ""
    found, text = found_in(tree)
    before, after = same(how, original(name)[1]), same(how, found)
    return before - after, after - before, text


#: Reasons why the findings of a variant differ, and the variants. One whose findings are the same must leave.
REASONS: dict[str, list[str]] = {
    "TIP303 takes the name of an in-place result for another name, though it is the same tensor": [
        "name_parts: cases/lif_neuron_hard_reset_index",
        "name_parts: flow/stale: Mixed with itself in another order",
    ],
    "whether a write converts its target is read off the expression that it assigns": [],
    "whether a write fills a part of an argument is read off its spelling": [],
    "names that a caller bound before the call are not compared in the function that it calls": [
        "split: flow/generators: Collected before anybody reads",
        "split: programs/refusals: views: made in inference mode, base written after",
        "split: flow/generators: The body of a loop runs where the generator yields",
        "split: flow/stale: A caller who asks for it",
        "split: flow/stale: Functions that may be given one tensor twice",
        "split: flow/stale: What a function was handed is not memory of its own",
        "split: programs/training: the data of a weight before it is filled",
        "split: programs/training: the weights before they are pruned",
    ],
    "what is asked of a value that has two new names is a read of the first": [
        "name_parts: flow/stale: What asks for no element, or replaces all of them",
        "name_parts: flow/stale: What only gets a name is not read",
    ],
    "a second name for what an in-place method returned is not known to be one for its receiver": [
        "name_parts: flow/stale: The result of an in-place method",
        "name_twice: flow/stale: The result of an in-place method",
    ],
    "steps count as taken back only where one function takes them all": [
        "split: flow/stale: Steps that are taken back",
    ],
    "a constant is changed by the function that takes it, and not by one that is given it": [
        "split: flow/stale: Constants that each call of a function changes",
    ],
    "who hands a value on reads it, whatever is asked of it then": [
        "split: flow/stale: A record, or a tensor: what is asked for by a key is no tensor",
        "split: flow/stale: What asks for no element, or replaces all of them",
        "split: flow/stale: What only gets a name is not read",
    ],
    "what a function does that shows a write to be meant is not seen from where it is called": [
        "split: flow/stale: A read of elements that the write left alone, and of others",
        "split: flow/stale: The program asks whether two names are one",
        "split: flow/stale: Who asks for the version or the address knows of the alias",
    ],
    "the scan follows what an instance calls only by the name `self`": [
        "name_twice: flow/stale: A checkpoint runs its function again",
    ],
    "private functions are judged by who mentions their names": [
        "split: flow/entries: A private method that only inference calls",
        "split: flow/entries: A private method that others call under no_grad",
    ],
    "a branch that is not read reveals what others may call only if its test and its place are spelled out": [
        "name_parts: flow/entries: A private method behind an attribute that others may set",
        "wrap: flow/entries: A private method behind an attribute that others may set",
    ],
    "the scan takes top-level definitions, tables and registrations only from the top level itself": [
        "wrap: flow/entries: A lambda with a name",
        "wrap: flow/entries: Tables that decorators fill",
    ],
    "a model that is kept is recognised in an `if` without `else` that holds nothing but assignments": [
        "exchange_arms: flow/stale: A model that is kept by another name",
        "wrap: flow/stale: A model that is kept by another name",
    ],
    "grad mode that a function sets ends with it, unless it is `__enter__` itself": [
        "split: flow/python: A class that is a context manager",
    ],
    "of more alternatives than are followed the first ones are": [
        "exchange_arms: flow/python: A path to a parameter, written in a string",
    ],
    "a name that is given to a part of an expression is one more holder of its value": [
        "name_parts: flow/stale: A caller who asks for it",
    ],
    "what proves that an argument is a tensor stands in the function itself, on the way of every run": [
        "wrap: flow/evidence: Its use further down",
        "wrap: flow/evidence: What is computed from values of which nothing is known",
        "wrap: programs/functions_and_layers: an activation is cleared before the second backward",
        "split: programs/functions_and_layers: an activation is cleared before the second backward",
        "wrap: programs/refusals: an argument that a method proves afterwards",
        "split: flow/evidence: Its use further down",
        "split: flow/evidence: What is computed from values of which nothing is known",
    ],
    "a private function that its caller finds by `globals()` is no entry point too, if the caller is read first": [
        "reorder: flow/entries: A private function that is found by its name, or handed on",
    ],
    "an argument that a method handed out is compared with what its own function does": [
        "split: programs/array_snapshots: the first observation, read after the second",
    ],
    "the place of a step, or the code of an in-place write, depends on which functions are running": [
        "split: flow/modules: A class around optimizers steps where it is called",
    ],
}
KNOWN_LIMITS = {name: reason for reason, names in REASONS.items() for name in names}

PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("how", TRANSFORMATIONS)
def test_same_findings(how: str, part: int) -> None:
    failures, mended, changed = [], [], 0
    for name in list(SOURCES)[part::PARTS]:
        gone, new, text = difference(name, how)
        changed += bool(text)
        key = f"{how}: {name}"
        if key in KNOWN_LIMITS and not (gone or new):
            mended.append(key)
        if key not in KNOWN_LIMITS and (gone or new):
            failures.append(f"{key}: gone {told(name, gone)}, new {told(name, new)}\n{text}")
    assert not failures, "\n".join(failures)
    assert not mended, "the findings are the same now: take these out of KNOWN_LIMITS"
    assert changed


def told(name: str, found: set[Finding]) -> list[str]:
    """Findings with the first lines of their statements."""
    texts = {node.number: ast.unparse(node).split("\n")[0] for node in statements(numbered(original(name)[0]))}
    return [f"{code} {texts[number]}" for code, number in sorted(found)]


def test_the_limits_name_variants() -> None:
    assert KNOWN_LIMITS.keys() <= {f"{how}: {name}" for how in TRANSFORMATIONS for name in SOURCES}


# The transformations themselves


@pytest.mark.parametrize("how", TRANSFORMATIONS)
def test_a_variant_means_the_same(how: str) -> None:
    """PyTorch raises for a variant where, and only where, it does for the program."""
    differ = []
    for program in varied()[::5]:
        name = f"programs/{program.file}: {program.heading}"
        tree, met = variant(name, how)
        if met:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = ast.unparse(ast.fix_missing_locations(tree))
                if is_wrong(replace(program, text=text)) != is_wrong(program):
                    differ.append(name)
    assert not differ
