"""Whether the tests notice a change of the analysis: `python -m tests.generated.notice --count 150 heap hazards`

Takes places in the functions of the rooms at random, and changes each alone: a comparison, a condition, a constant, an
operand, a statement. Each change runs the programs of tests/flow, silent, programs and cases that come through the
function, in a process of its own, until one of them says something else; if none does, the tests of `--also` too.
Prints what nothing noticed: either it changes nothing that can be seen, or a program is missing.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import io
import os
import random
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

import pytest  # noqa: E402
import test_cases  # noqa: E402
import test_flow  # noqa: E402
import test_programs  # noqa: E402
import test_silent  # noqa: E402

import flake8_inplace  # noqa: E402
from flake8_inplace.analysis import analyze  # noqa: E402

PACKAGE = Path(flake8_inplace.__file__).parent
#: Seconds that one check of a changed analysis may take before it counts as endless.
LIMIT = 60
ALSO = (
    *("test_conditions.py", "test_extras.py", "test_libraries.py", "test_imports.py", "test_arrays.py"),
    *("test_distributions.py", "test_docs.py", "test_people.py", "test_lattice.py"),
)
QUIETLY = ("-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "-W", "ignore")
SLOW = {"tmp_path", "device", "capsys"}
"""Fixtures of tests that run a command or PyTorch."""
Check = tuple[str, Callable[[], object]]


# What is changed

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}


def changes(function: ast.AST) -> Iterator[tuple[int, str, Callable[[], None]]]:
    """Each change of a function: its line, what it is, and what makes it. Docstrings and annotations stay."""
    for node in ast.walk(function):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            yield line, f"other comparison in {ast.unparse(node)}", _put(node.ops, 0, SWAPPED[type(node.ops[0])]())
        elif isinstance(node, ast.BoolOp):
            yield line, f"and/or in {ast.unparse(node)}", _set(node, "op", SWAPPED[type(node.op)]())
            for i, each in enumerate(node.values):
                rest = node.values[:i] + node.values[i + 1 :]
                yield line, f"without `{ast.unparse(each)}` in {ast.unparse(node)}", _set(node, "values", rest)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield line, f"without the not of {ast.unparse(node)}", _set(node, "op", ast.UAdd())
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
            yield line, f"other operator in {ast.unparse(node)}", _set(node, "op", SWAPPED[type(node.op)]())
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Constant):
            test = ast.UnaryOp(ast.Not(), node.test)
            yield line, f"negated test {ast.unparse(node.test)}", _set(node, "test", test)
        elif isinstance(node, ast.comprehension):
            for i, each in enumerate(node.ifs):
                what = f"comprehension without `if {ast.unparse(each)}`"
                yield each.lineno, what, _set(node, "ifs", node.ifs[:i] + node.ifs[i + 1 :])
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield line, f"{not node.value} for {node.value}", _set(node, "value", not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield line, f"{node.value + 1} for {node.value}", _set(node, "value", node.value + 1)
        elif isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
            yield line, f"{NAMES[node.id]} for {node.id}", _set(node, "id", NAMES[node.id])
        elif isinstance(node, ast.Call) and node.keywords:
            for i, keyword in enumerate(node.keywords):
                rest = node.keywords[:i] + node.keywords[i + 1 :]
                yield line, f"without {ast.unparse(keyword)} in {ast.unparse(node)}", _set(node, "keywords", rest)
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            for i, statement in enumerate(body if isinstance(body, list) else ()):
                if isinstance(statement, ast.Break | ast.Continue):
                    other = SWAPPED[type(statement)]()
                    yield statement.lineno, f"other than {ast.unparse(statement)}", _put(body, i, other)
                elif _can_be_dropped(statement):
                    yield statement.lineno, f"without {ast.unparse(statement)}", _put(body, i, ast.Pass())


def _can_be_dropped(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    plain = isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name | ast.Tuple)
    return plain or isinstance(statement, ast.AugAssign)


def _set(node: ast.AST, name: str, value: object) -> Callable[[], None]:
    def change() -> None:
        if name == "values" and isinstance(value, list) and len(value) == 1:
            value.append(value[0])  # `a and a`
        if name == "op" and isinstance(value, ast.UAdd):  # `not x` becomes `not not x`
            assert isinstance(node, ast.UnaryOp)
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
            return
        setattr(node, name, value)

    return change


def _put(values: list[Any], i: int, value: object) -> Callable[[], None]:
    def change() -> None:
        values[i] = value

    return change


@dataclass(frozen=True)
class Place:
    """One change: the module, the number of its function and that of the change in it."""

    path: Path
    function: int
    change: int


def functions_of(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions and methods that are no part of another function."""
    found: list[ast.FunctionDef] = []
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        found += [each for each in inside if isinstance(each, ast.FunctionDef)]
    return found


def stripped(function: ast.FunctionDef) -> ast.AST:
    """What may be changed in a function: its body. It is walked without the signature and the decorators."""
    return ast.Module(function.body, [])


def places(rooms: list[str]) -> list[Place]:
    found = []
    for room in rooms:
        for path in sorted((PACKAGE / room).glob("*.py")):
            for i, function in enumerate(functions_of(ast.parse(path.read_text()))):
                found += [Place(path, i, j) for j, _ in enumerate(changes(stripped(function)))]
    return found


def changed(place: Place) -> tuple[str, int, str, CodeType, str]:
    """The name of a function, its line, what is changed, and the code of the changed function with its first line."""
    tree = ast.parse(place.path.read_text())
    function = functions_of(tree)[place.function]
    line, what, change = list(changes(stripped(function)))[place.change]
    change()
    code = compile(ast.fix_missing_locations(tree), str(place.path), "exec", dont_inherit=True)
    return function.name, line, what, code_at(code, function), str(place.path)


def code_at(code: CodeType, function: ast.FunctionDef) -> CodeType:
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    todo = [code]
    while todo:
        each = todo.pop()
        if each.co_name == function.name and each.co_firstlineno == first:
            return each
        todo += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
    raise LookupError(function.name)


# What may notice it


def checks() -> list[Check]:
    """The tests that analyse a program, without PyTorch; those that are known to fail are turned round."""
    found: list[Check] = [(str(block), functools.partial(test_flow.test_flow, block)) for block in test_flow.BLOCKS]
    for pair in test_silent.PAIRS:
        found.append((pair.heading, functools.partial(tells_apart, pair)))
    for name, text in test_silent.CLEAN:
        found.append((name, functools.partial(says, text, False)))
    for program in test_programs.programs():
        text = test_programs.IMPORTS + program.text
        found.append(
            (f"{program.file}: {program.heading}", functools.partial(says, text, bool(analyze(text).findings)))
        )
    for path in test_cases.CASES:
        found.append((path.stem, functools.partial(case, path)))
    return found


def tells_apart(pair: Any) -> None:
    told = bool(analyze(pair.text("#-")).findings) and not analyze(pair.text("#+")).findings
    assert told != bool(pair.limit)


def says(text: str, something: bool) -> None:
    assert bool(analyze(text).findings) == something


def case(path: Path) -> None:
    test_cases.linted.cache_clear()
    test_cases.test_nothing_else_is_found(path)
    test_cases.test_marks_are_found(path)


def coverage(found: list[Check]) -> dict[tuple[str, int], list[int]]:
    """For each function of the package, by file and line: the checks that come through it, the fastest first."""
    through: dict[tuple[str, int], list[int]] = defaultdict(list)
    seconds = []
    for i, (_, check) in enumerate(found):
        seen: set[CodeType] = set()

        def note(frame: FrameType, event: str, argument: object, seen: set[CodeType] = seen) -> None:
            if event == "call":
                seen.add(frame.f_code)

        start = time.process_time()
        sys.setprofile(note)
        try:
            check()
        finally:
            sys.setprofile(None)
        seconds.append(time.process_time() - start)
        for code in seen:
            through[code.co_filename, code.co_firstlineno].append(i)
    return {key: sorted(each, key=seconds.__getitem__) for key, each in through.items()}


class Quick:
    """A plugin of pytest that leaves out the tests which take long and ask the analysis little."""

    @staticmethod
    def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
        slow = re.compile("rolled_back|console")
        items[:] = [each for each in items if not (SLOW & set(each.fixturenames) or slow.search(each.name))]


# One change


def replace(place: Place) -> None:
    """Put the changed code into the function, wherever it is referred to, and forget what the old one computed."""
    name, _, _, code, path = changed(place)
    targets = [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType  # isinstance would ask some objects for their class, which warn
        and each.__code__.co_filename == path
        and each.__code__.co_firstlineno == code.co_firstlineno
        and each.__code__.co_name == name
    ]
    assert targets, (name, path)
    for each in targets:
        each.__code__ = code.replace(co_freevars=each.__code__.co_freevars) if each.__closure__ else code
    for each in gc.get_objects():
        if hasattr(type(each), "cache_clear") and str(getattr(each, "__module__", "")).startswith("flake8_inplace.h"):
            each.cache_clear()


def noticed(place: Place, relevant: list[Check], also: list[str]) -> str:
    """The first check that notices a change, or nothing. Runs in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.write(writing, _first(place, relevant, also).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        answer = file.read()
    _, status = os.waitpid(child, 0)
    return answer if not status else "the process died"


def _first(place: Place, relevant: list[Check], also: list[str]) -> str:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    replace(place)
    for name, check in relevant:
        signal.alarm(LIMIT)
        try:
            check()
        except Exception:
            return name
    signal.alarm(0)
    if also:
        said = io.StringIO()
        with redirect_stdout(said):
            status = pytest.main([*QUIETLY, *also], [Quick()])
        assert status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), said.getvalue()
        if status == pytest.ExitCode.TESTS_FAILED:
            return next((row for row in said.getvalue().splitlines() if row.startswith("FAILED")), "a test")
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether the tests notice a change of the analysis.")
    parser.add_argument("rooms", nargs="*", default=["heap", "hazards"])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first change: continues a run")
    parser.add_argument("--also", nargs="*", default=ALSO, help="tests that run if no program notices a change")
    args = parser.parse_args()
    every = places(args.rooms)
    random.Random(args.seed).shuffle(every)
    chosen = every[args.start : args.start + args.count]
    found = checks()
    through = coverage(found)
    gc.collect()
    print(f"{len(every)} places, {len(chosen)} taken; {len(found)} programs", flush=True)
    survivors, started = 0, time.perf_counter()
    for number, place in enumerate(chosen, args.start + 1):
        name, line, what, code, path = changed(place)
        relevant = [found[i] for i in through.get((path, code.co_firstlineno), ())]
        who = noticed(place, relevant, [str(TESTS / each) for each in args.also])
        survivors += not who
        where = f"{place.path.relative_to(PACKAGE)}:{line} {name}"
        if not who:
            print(f"SURVIVED {where}: {what}  ({len(relevant)} programs come through)", flush=True)
        else:
            print(f"{number} {where}: {who[:80]}", file=sys.stderr, flush=True)
    score = 1 - survivors / len(chosen)
    print(f"{len(chosen)} changes, {survivors} not noticed: {score:.1%}, in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
