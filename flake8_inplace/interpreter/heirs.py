"""What a class does with its subclasses: metaclasses and ``__init_subclass__``."""

from __future__ import annotations

from typing import Any

from ..heap.state import variables
from ..heap.values import Attributes, Choice, Const, Dict, Items, List, Object, Tuple, Unknown, Value
from ..models import lineage
from ..program.pieces import INIT_SUBCLASS
from ..program.site import Site
from ..trace.frames import Class, Function
from ..trace.trace import Trace


def tell(m: Trace, cls: Class, options: dict[str, Value], site: Site) -> None:
    """Run what a class inherits that runs when a class is made: it may put the class into a table."""
    _run_metaclass(m, cls, Dict(dict(cls.members.items())), options, site)
    found = lineage.member(cls, INIT_SUBCLASS, after=cls)
    if isinstance(found, Function):
        m.run(found, [cls], options, site)


def _run_metaclass(m: Trace, cls: Class, members: Dict, options: dict[str, Value], site: Site) -> None:
    given: list[Value] = [Const(cls.name), Tuple(cls.bases), members]
    m.stack.making.append(cls)
    try:
        for first, method in _making(cls.metaclass, cls):
            m.run(method, [first, *given], options, site)
    finally:
        m.stack.making.pop()


def _making(meta: Class | None, cls: Class) -> list[tuple[Class, Function]]:
    """The methods of a metaclass that run when it makes a class, each with its first argument."""
    if meta is None:
        return []
    found = ((meta, lineage.member(meta, "__new__")), (cls, lineage.member(meta, "__init__")))
    return [(first, method) for first, method in found if isinstance(method, Function)]


def keeps_heirs(m: Trace, cls: Class) -> bool:
    """Return whether a class, or its metaclass, puts the subclasses somewhere: into a table, say.

    That is tried with a subclass of which nothing is known. What it does is undone.
    """
    told = lineage.member(cls, INIT_SUBCLASS)
    return _keeps(m, cls, cls, told if isinstance(told, Function) else None, cls.metaclass)


def keeps_made(m: Trace, metaclass: Class) -> bool:
    """Return whether a metaclass puts the classes that it makes somewhere."""
    return _keeps(m, metaclass, Unknown(), None, metaclass)


def _keeps(m: Trace, asked: Class, base: Value, told: Function | None, metaclass: Class | None) -> bool:
    if told is None and not _making(metaclass, asked):
        return False
    heir = Class("", asked.node, asked.piece, (base,), variables(_overridden(base)), metaclass=metaclass)
    mark = m.state.mark()
    _run_metaclass(m, heir, Dict(open=True), {}, Site(asked.piece, asked.node, asked.node))
    if told is not None:  # as an entry point: other options may be given than those that it names
        m.run(told, [heir], {name: Unknown() for name in told.defaults}, Site(told.piece, told.node, told.node))
    changed = [value for where, _, value in m.state.changes(mark).values() if where is not heir.members]
    kept = any(_holds(m, value, heir) for value in changed)
    m.state.rollback(mark)
    return kept


def _overridden(base: Value) -> dict[str, Value]:
    """The members of a class and its bases that a subclass may have another value of: ``layer_type = None``."""
    bases = (each for each in lineage.lineage(base) if isinstance(each, Class))
    return {name: Unknown() for each in bases for name, value in each.members.items() if isinstance(value, Const)}


def _holds(m: Trace, contents: Any, cls: Class) -> bool:
    """Whether something holds a class, at some distance."""
    todo, seen = [contents], set[int]()
    while todo:
        value = todo.pop()
        if value is cls:
            return True
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (List, Dict, Object)):
            value = m.state.get(value)
        if isinstance(value, Choice):
            todo += [option for _, option in value.options]
        elif isinstance(value, (Tuple, Items)):
            todo += value.items
        elif isinstance(value, Attributes):
            todo += value.items.values()
    return False
