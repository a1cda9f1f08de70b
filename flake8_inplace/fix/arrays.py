"""A copy of an array above the call that overwrites it: ``np.copyto(x, y)``, ``rng.shuffle(x)``, ``x.sort()``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Fix
from .forms import Form
from .statements import statement_around
from .syntax import dotted, name_of, viewed_root


def arrays(usual: Form) -> Iterator[Fix]:
    """A copy of each operand that the analysis saw to be an array, and nothing else."""
    module, fact = usual.module, usual.fact
    for call in module.of(cst.Call):
        statement = statement_around(module, call)
        if module.start(name_of(call)) != usual.finding.place or statement is None or fact is None:
            continue
        receiver = [call.func.value] if isinstance(call.func, cst.Attribute) else []
        for operand in [*receiver, *(argument.value for argument in call.args)]:
            if fact.kinds.get(dotted(viewed_root(operand))) == {"array"}:
                yield from usual.clone_first(operand, statement)
