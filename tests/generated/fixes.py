"""Generated programs, fixed and executed: a fix changes no value and no gradient.

What a program means is known even if its backward raises: hooks that copy what autograd saves let it pass, with the
values that were saved. `python tests/generated/fixes.py 2000` counts.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from flake8_inplace.finding import Finding
from flake8_inplace.fix import Mended, mend
from flake8_inplace.hazards.saved import UPDATES
from flake8_inplace.rules import RULES
from generated import oracle
from generated.programs import make_program

Run = list[tuple[torch.Tensor, ...]]
"""For each backward of a program: its roots, and the gradients in the leaves that it reached."""


def every(text: str, findings: Sequence[Finding]) -> list[bool]:
    return [True] * len(findings)


def run(source: str, arguments: tuple[Any, ...], copying: bool) -> Run | str:
    """What the backward passes of a program start from and leave behind, or its error."""
    torch.manual_seed(0)
    kept: Run = []
    names: dict[str, Any] = {"__name__": "program"}
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach().clone(), lambda copy: copy)
    with warnings.catch_warnings(), recorded(kept), hooks if copying else nullcontext():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "<program>", "exec"), names)
            names["program"](*arguments)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return kept


@contextmanager
def recorded(kept: Run) -> Iterator[None]:
    original = torch.autograd.backward

    def backward(tensors: Any, *args: Any, **options: Any) -> None:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        values = [root.detach().clone() for root in roots]
        leaves = sorted(leaves_of(roots), key=lambda leaf: (tuple(leaf.shape), leaf.detach().flatten().tolist()))
        original(tensors, *args, **options)
        kept.append((*values, *(leaf.grad.detach().clone() for leaf in leaves if leaf.grad is not None)))

    with mock.patch.object(torch.autograd, "backward", backward):
        yield


def leaves_of(roots: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The leaves of a graph, each once."""
    seen: set[Any] = set()
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        waiting += [below for below, _ in node.next_functions if below is not None]


def same(one: Run, other: Run) -> bool:
    return len(one) == len(other) and all(map(alike, one, other))


def alike(one: tuple[torch.Tensor, ...], other: tuple[torch.Tensor, ...]) -> bool:
    """Whether two backward passes agree. A leaf may be overwritten later, so its value does not say which it is."""
    left = list(other)
    for a in one:
        at = next((i for i, b in enumerate(left) if close(a, b)), None)
        if at is None:
            return False
        del left[at]
    return not left


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)


def judge(source: str, unsafe: bool) -> tuple[str, str]:
    """What a fix did to a program, and the text with it: "right", "harmed", "partly" where a finding is left."""
    mended = mend(source, every, unsafe)
    return effect(source, mended), mended.text


def effect(source: str, mended: Mended) -> str:
    """What fixes did to a program, over all settings of it; "foreign" where it fails for reasons of its own."""
    if not mended.done:
        return "nothing"
    worst = "right"
    silent = any(RULES[finding.code].silent or RULES[finding.code].kind == "data" for finding, _ in mended.done)
    cut = any(RULES[finding.code].kind in UPDATES for finding, _ in mended.done)
    for arguments in oracle.settings(source):
        meant, after = run(source, arguments, copying=True), run(mended.text, arguments, copying=False)
        if isinstance(meant, str):
            return "foreign"
        if isinstance(after, str):
            left = "modified by an inplace operation" in after and bool(mended.left)
            worst = "partly" if left and worst == "right" else worst if left else "still raises"
        elif not same(meant, after):
            if silent:
                return "another value"  # which was read too late, or is differentiated now, as the finding says
            if cut:
                return "cut"  # a state that is carried on has no graph below the update, as the title says
            if not mended.left:
                return "harmed"
            worst = "partly"
    return worst


def passes(source: str) -> bool:
    return not any(isinstance(run(source, arguments, copying=False), str) for arguments in oracle.settings(source))


def main(number: int, seed: str = "fix") -> None:
    """Print how many programs came out how, by grade and by whether they pass; and the findings of each rule."""
    counted: Counter[str] = Counter()
    rules: Counter[tuple[str, str]] = Counter()
    for i in range(number):
        source = make_program(random.Random(f"{seed}:{i}"))
        for grade in ("safe", "unsafe"):
            mended = mend(source, every, grade == "unsafe")
            what = effect(source, mended)
            for finding, _ in mended.done:
                rules[finding.code, grade] += 1
            if what == "nothing":
                rules.update((finding.code, "no " + grade) for finding in mended.left)
                continue
            before = "passing" if passes(source) else "raising"
            counted[f"{grade}, {before}: {what}"] += 1
            rules.update((finding.code, "no " + grade) for finding in mended.left)
            if (what in ("harmed", "still raises") or before == "passing") and counted[
                f"{grade}, {before}: {what}"
            ] <= 5:
                print(f"# {seed}:{i} {grade}, {before}: {what}\n{source}\n# fixed\n{mended.text}\n", flush=True)
        if i % 100 == 99 or i == number - 1:
            print(i + 1, "programs;", dict(sorted(counted.items())), dict(sorted(rules.items())), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
