"""A tuple of tensors of which one is overwritten, as a list that the new tensor is put into.

``parts = x.split(2)`` becomes ``parts = list(x.split(2))``, and ``parts[0].exp_()`` ``parts[0] = parts[0].exp()``.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Fix
from .forms import Form
from .scope import Scope, scope_around
from .statements import statement_around, writers
from .syntax import dotted, last_name, layers_of

_TAKE_ANY = frozenset({"cat", "stack", "concat", "hstack", "vstack", "len", "zip", "enumerate", "list", "tuple", "sum"})
"""What takes a list as well as a tuple, and returns the same."""


def as_list(form: Form) -> Iterator[Fix]:
    """The forms for an element of a list, with the tuple of views made one."""
    for _, target in writers(form.module, form.finding.place) if form.form == "views" else ():
        slots = layers_of(target) if target is not None else []
        names = [slot.value for slot in slots if isinstance(slot, cst.Subscript) and isinstance(slot.value, cst.Name)]
        for name in names:
            scope = scope_around(form.module, name)
            bound = [value for _, value in scope.bindings(name.value)]
            if len(bound) != 1 or not isinstance(bound[0], cst.Call) or not _any_sequence(form, scope, name.value):
                continue
            start, end = form.module.start(bound[0]), form.module.end(bound[0])
            listed = (Edit(start, start, "list("), Edit(end, end, ")"))
            other = Form(form.module, form.finding, form.facts, name.value)
            for fix in other.fixes():
                yield Fix(f"make `{name.value}` a list, and {fix.title}", False, (*listed, *fix.edits))


def _any_sequence(form: Form, scope: Scope, name: str) -> bool:
    """Whether a tuple is used in ways only in which a list does as well."""
    return all(_takes_list(form, use) for use in scope.uses(name))


def _takes_list(form: Form, use: cst.Name) -> bool:
    loops = (cst.For, cst.CompFor)
    if statement_around(form.module, use) is None and not isinstance(form.module.parents[use], loops):
        return False
    parent = form.module.parents[use]
    if isinstance(parent, cst.Subscript):
        return parent.value is use
    if isinstance(parent, cst.Arg):
        call = form.module.parents[parent]
        return isinstance(call, cst.Call) and last_name(call.func) in _TAKE_ANY and dotted(call.func) != ""
    return isinstance(parent, loops) and parent.iter is use
