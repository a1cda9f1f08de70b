"""An input that a custom forward overwrites and returns: ``ctx.mark_dirty(x)`` above the write.

A write of its own is for the input. Where only its result is wanted, ``return x.mul_(2)``, the usual form computes it
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Fix
from .forms import Form
from .scope import scope_around
from .statements import line_above, writing_statements
from .syntax import root_of, walk


def marked(form: Form) -> Iterator[Fix]:
    """Say to autograd what the function does, if it returns what it overwrites: no value changes then.

    Whether it does return it, the second analysis says: PyTorch refuses a mark on anything else.
    """
    module = form.module
    for statement, target in writing_statements(module, form.finding.place):
        root, function = root_of(target), module.around(statement, cst.FunctionDef)
        if not isinstance(root, cst.Name) or function is None or isinstance(statement, cst.Return):
            continue
        if not any(map(_gives, walk(function.body))):
            continue
        if any(other.name.value == "setup_context" for other in module.of(cst.FunctionDef)):
            continue  # the context is not given to the forward
        names = [parameter.name.value for parameter in function.params.params]
        bound = [found for found, _ in scope_around(module, statement).bindings(root.value)]
        if root.value in names[1:] and len(bound) == 1:
            code, start = f"{names[0]}.mark_dirty({root.value})", module.start(statement)
            yield Fix(f"add `{code}`", False, (Edit(start, start, line_above(module, statement, code)),))


def _gives(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Return) and node.value is not None
