"""How much of the reading is a function read again, called as it was before: what remembering calls could save.

    python tests/benchmarks/repeated.py path/to/folder

Three shares of the time, each a part of the one before: calls in one file with arguments of the same *kinds* (tensor
or not, whether it requires grad, view or base, the constant, the class); those with the same *objects*, read from the
same start; and those made under the same *assumptions* about what is not known. Only the last could be answered
without translating what was remembered to other objects and assumptions.
"""

import argparse
import time
from collections.abc import Hashable
from pathlib import Path

from flake8_inplace.analysis import analyze
from flake8_inplace.heap.values import Const, Object, Tensor, Tuple, Value
from flake8_inplace.interpreter.schedule import Interpreter
from flake8_inplace.program.site import Site
from flake8_inplace.trace.frames import Function
from flake8_inplace.trace.trace import Trace

LEVELS = ("kinds", "objects", "assumptions")


def kind(m: Trace, value: Value, level: str) -> Hashable:
    value = m.see(value)
    if isinstance(value, Tensor):
        return "tensor", m.grad(value), value.view
    if isinstance(value, Const):
        return "constant", repr(value.value)
    if isinstance(value, Object):
        return "object", value.cls if level == "kinds" else value
    if isinstance(value, Tuple):
        return "tuple", *(kind(m, item, level) for item in value.items)
    return type(value).__name__


def measure(folder: Path, level: str) -> float:
    """The share of the time of the analysis that goes into the outermost calls that are repeated."""
    seen: set[Hashable] = set()
    starts: list[object] = []  # kept, so that no two have the same id
    repeated, inside = 0.0, False
    read = Interpreter.run

    def run(m: Trace, function: Function, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        nonlocal repeated, inside
        starts.append(m.state)
        where = (None, None) if level == "kinds" else (id(m.state), m.state.guard() if level == "assumptions" else None)
        given = tuple((name, kind(m, value, level)) for name, value in (*enumerate(args), *kwargs.items()))
        call = where, function.node, given, m.grad_mode
        again = call in seen and bool(m.stack.functions) and not inside
        seen.add(call)
        if not again:
            return read(m, function, args, kwargs, site)
        inside, start = True, time.process_time()
        try:
            return read(m, function, args, kwargs, site)
        finally:
            inside, repeated = False, repeated + time.process_time() - start

    Interpreter.run = run  # type: ignore[method-assign, assignment]
    try:
        start = time.process_time()
        for path in sorted(folder.rglob("*.py")):
            seen.clear()
            starts.clear()
            analyze(path.read_text(encoding="utf-8"))
        return repeated / (time.process_time() - start)
    finally:
        Interpreter.run = read  # type: ignore[method-assign]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Share of the reading that repeats an earlier call.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    for level in LEVELS:
        print(f"same {level:12} {measure(folder, level):6.1%} of the time")


if __name__ == "__main__":
    main()
