"""The values of names that other files of the project define. A definition is read when its name is looked up."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.join import choose
from ..heap.values import ALWAYS, Const, Dict, List, Ref, Unknown, Value
from ..program.exports import Exports
from ..program.imports import Definition, External, Import, Result
from ..program.pieces import Piece, heirs
from ..program.roots import Module, is_library
from ..torchfacts import ops as facts
from ..trace.callables import Namespace
from ..trace.frames import Class, Frame
from ..trace.text import MAIN
from ..trace.trace import Trace

CANDIDATES = 3
"""The most definitions of one name, in branches of its module, that are followed."""
NAMES = 64
"""The most names of a module that ``vars(module)`` is read with."""


def imported(m: Trace, module: str, name: str | None, path: str) -> Value | None:
    """Return what ``from module import name`` means in the file at ``path``; None if it leads out of the project."""
    others = m.text.others
    if others is None or not path or is_library(module):
        return None
    if name is not None and facts.lookup(f"{module}.{name}"):
        return None  # an operator of the team's own, by `inplace-ops`
    return _value(m, others.project.follow(Import(module, name), path))


def itself(m: Trace) -> Value:
    """Return the module that is read, which is called ``__main__``."""
    return Namespace(Module(m.text.file.path, name=MAIN))


def member(m: Trace, namespace: Namespace, name: str) -> Value:
    """Return an attribute of a module."""
    others, full = m.text.others, f"{namespace.module.name}.{name}"
    if name == "__name__":
        return Const(namespace.module.name)
    if namespace.module.path == m.text.file.path and (bound := _bound(m, m.text.file.path, name)) is not None:
        return bound
    if others is None or facts.lookup(full):
        return Ref(full)
    found = _value(m, others.project.look_up(namespace.module, name))
    return found if found is not None else Ref(full)


def contents(m: Trace, namespace: Namespace) -> Value:
    """Return all that a module binds, as ``vars(module)`` and ``module.__dict__`` do."""
    others, path = m.text.others, namespace.module.path
    bound = others.project.exports(path) if others is not None and path is not None else None
    if not isinstance(bound, Exports) or len(bound.names) > NAMES:
        return Unknown()
    return Dict({name: member(m, namespace, name) for name in bound.names}, open=True)


def found(m: Trace, name: str, path: str) -> Value | None:
    """Return what imports of the file at ``path`` bind a name to; None if they don't."""
    others = m.text.others
    results = others.project.find(name, path) if others is not None else ()
    return _value(m, [each for each in results if not isinstance(each, Definition) or each.path != path])


def registered_elsewhere(m: Trace, path: str, name: str) -> list[tuple[Piece, Frame]]:
    """Return the statements of other files that register by a name of a file, each with the frame of its module."""
    others, found = m.text.others, list[tuple[Piece, Frame]]()
    if others is None or not path:
        return found
    for file in others.users.registering(path, name):
        module = m.text.module(file) if others.registers(file, name) else None
        if module is not None:
            found += [(piece, module.frame) for piece in module.file.registered.get(name, ())]
    return found


def subclasses(m: Trace, cls: Class) -> Value:
    """Return the classes of the program that inherit from a class directly, as ``__subclasses__()`` does."""
    key, path = heirs(cls.name), cls.piece.path
    module = m.text.module(path)
    own = [(piece, module.frame) for piece in module.file.registered.get(key, ())] if module is not None else []
    for piece, frame in [*own, *registered_elsewhere(m, path, key)]:
        m.load(piece, frame)
    open = not cls.heirs or (m.text.others is not None and m.text.others.users.are_too_many(path, key))
    return List([*cls.heirs], open)


def _value(m: Trace, results: Iterable[Result]) -> Value | None:
    """Return the value of the only result, or a choice of several, each under an assumption of its own."""
    options = [value for result in results if (value := _of_result(m, result)) is not None][:CANDIDATES]
    if len(options) < 2:
        return options[0] if options else None
    ways, left = [], ALWAYS
    for number, option in enumerate(options[:-1]):
        test = m.symbol("import", option, number, scalar=True)
        ways.append((left | {(test, True)}, option))
        left |= {(test, False)}
    return choose([*ways, (left, options[-1])])


def _of_result(m: Trace, result: Result) -> Value | None:
    if isinstance(result, Definition):
        return _defined(m, result)
    if isinstance(result, Module):
        return Namespace(result)
    return Ref(result.name) if isinstance(result, External) else None


def _defined(m: Trace, definition: Definition) -> Value | None:
    if m.text.module(definition.path) is None:
        return None
    return _bound(m, definition.path, definition.name) or Unknown()


def _bound(m: Trace, path: str, name: str) -> Value | None:
    """Return what the statements of a file bind a name to."""
    module = m.text.module(path)
    if module is None:
        return None
    for piece in module.file.binders.get(name, ()):
        m.load(piece, module.frame)
    found: Value | None = module.frame.vars.get(name)
    return found
