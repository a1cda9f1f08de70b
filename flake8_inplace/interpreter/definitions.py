"""``def``, ``class`` and ``import``."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from ..heap.state import variables
from ..heap.values import NONE, Object, Ref, Value
from ..models import amp, autograd, calls, generic, managers
from ..models.lineage import RECORDS
from ..program.site import Site
from ..trace.callables import Bound, Dispatch, GradMode, Method, Partial
from ..trace.frames import Class, Frame, Function
from ..trace.trace import Trace
from . import heirs, modules
from .annotations import TENSORS, annotation, dotted, names_of
from .binding import bind
from .dispatch import evaluate, runs, statement


@runs(cst.FunctionDef)
def _function(m: Trace, node: cst.FunctionDef, frame: Frame) -> bool:
    m.state.set(frame.vars, node.name.value, _decorated(m, node, make_function(m, node, frame, None), frame))
    return True


def _decorated(m: Trace, node: cst.FunctionDef, function: Function, frame: Frame) -> Function:
    """Apply the decorators of the program to a function: they may wrap it, or put it into a table of the module."""
    made = _decorate(m, node, function, frame)
    instance = _is_own(made)
    known = instance or isinstance(made, (Function, Bound, Dispatch, Partial))
    return replace(function, wrapped=made) if known and made is not function else function


def _decorate(m: Trace, node: cst.FunctionDef | cst.ClassDef, made: Value, frame: Frame) -> Value:
    for decorator in reversed(node.decorators):
        inner = decorator.decorator
        callee = m.see(evaluate(m, inner.func if isinstance(inner, cst.Call) else inner, frame))
        if callee == Ref(generic.SINGLE):
            made = calls.call(m, callee, [made], {}, Site(frame.piece, decorator, decorator))
        if isinstance(callee, Method) and isinstance(callee.receiver, Dispatch) and callee.name == "register":
            generic.register(m, callee.receiver, _registered_type(m, node, inner, frame), made)
        if not isinstance(callee, (Function, Bound, Class)) and not _is_own(callee):
            continue
        wrapper = m.see(evaluate(m, inner, frame)) if isinstance(inner, cst.Call) else callee
        if isinstance(wrapper, (Function, Bound, Class)) or _is_own(wrapper):
            made = m.see(calls.call(m, wrapper, [made], {}, Site(frame.piece, decorator, decorator)))
    return made


def _is_own(value: Value) -> bool:
    """Whether it is an instance of a class of the program."""
    return isinstance(value, Object) and isinstance(value.cls, Class)


def _registered_type(
    m: Trace, node: cst.FunctionDef | cst.ClassDef, decorator: cst.BaseExpression, frame: Frame
) -> Value:
    """Return the type in ``@f.register(type)``, or else the annotation of the first parameter."""
    if isinstance(decorator, cst.Call):
        return m.see(evaluate(m, decorator.args[0].value, frame)) if decorator.args else NONE
    params = node.params.params if isinstance(node, cst.FunctionDef) else ()
    said = params[0].annotation if params else None
    return m.see(evaluate(m, said.annotation, frame)) if said is not None else NONE


def make_function(m: Trace, node: cst.FunctionDef, frame: Frame, owner: Class | None) -> Function:
    kind, grad, inference, compiled, managed, memoized = "", None, False, False, False, False
    autocast: Value | None = None
    for decorator in node.decorators:
        inner = decorator.decorator
        inner = inner.func if isinstance(inner, cst.Call) else inner
        name = (
            inner.value if isinstance(inner, cst.Name) else inner.attr.value if isinstance(inner, cst.Attribute) else ""
        )
        if name in ("staticmethod", "classmethod"):
            kind = name[:-6]
        elif name in ("property", "cached_property", "lazyproperty", "setter"):
            kind = name if name in ("property", "setter") else "cached"
        elif name in ("register_kernel", "register_fake"):  # of torch.library, or of an operator: below autograd
            grad = False
        value = evaluate(m, inner, frame) if isinstance(inner, (cst.Name, cst.Attribute)) and kind != "setter" else NONE
        if isinstance(value, Ref):
            managed = managed or value.name == "contextlib.contextmanager"
            memoized = memoized or value.name in ("functools.cache", "functools.lru_cache")
            compiled = compiled or value.name in ("torch.compile", "torch.jit.script")
            mode = _grad_mode(m, decorator.decorator, value.name, frame)
            if mode is not None:
                grad, inference = mode.on, inference or bool(mode.inference)
            if value.name in amp.DECORATORS:
                autocast = evaluate(m, decorator.decorator, frame)
    defaults: dict[str, Value] = {}
    for param in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
        if param.default is not None:
            defaults[param.name.value] = evaluate(m, param.default, frame)
    text = frame.piece.tree.heads.get(node)
    given = (*node.params.posonly_params, *node.params.params)
    names = names_of(m, frame.piece.path)
    said_tensors = tuple(param.name.value for param in given if annotation(param.annotation, names) in TENSORS)
    m.text.scopes.append(frame)
    return Function(
        node.name.value,
        node,
        frame.piece,
        frame,
        text,
        owner,
        kind,
        grad,
        defaults,
        inference,
        compiled,
        managed,
        said_tensors,
        autocast=autocast,
        memoized=memoized,
    )


def _grad_mode(m: Trace, decorator: cst.BaseExpression, name: str, frame: Frame) -> GradMode | None:
    """The grad mode that a decorator runs its function in, if it is one for that."""
    if not isinstance(decorator, cst.Call) or not autograd.takes_grad_mode(name):
        return autograd.grad_mode_of(name)
    before = managers.modes_before(m)
    made = evaluate(m, decorator, frame)
    managers.restore(m, before)  # set_grad_enabled() switches at once, and back where it gets a function
    return made if isinstance(made, GradMode) else None


@runs(cst.ClassDef)
def _class(m: Trace, node: cst.ClassDef, frame: Frame) -> bool:
    bases = tuple(m.see(evaluate(m, arg.value, frame)) for arg in node.bases)
    generated = bool(node.decorators) or any(b.generated if isinstance(b, Class) else b in RECORDS for b in bases)
    options = {
        arg.keyword.value: m.see(evaluate(m, arg.value, frame)) for arg in node.keywords if arg.keyword is not None
    }
    meta = _metaclass(options.pop("metaclass", None), bases)
    cls = Class(node.name.value, node, frame.piece, bases, variables(), _fields(node), generated, metaclass=meta)
    body = Frame(cls.members, frame.piece, frame, owner=cls)
    m.text.scopes.append(body)
    for part in node.body.body:
        if isinstance(part, cst.FunctionDef):
            function = _decorated(m, part, make_function(m, part, frame, cls), body)
            name = f"{function.name}.setter" if function.kind == "setter" else function.name
            cls.members[name] = function
        else:
            statement(m, part, body)
    site = Site(frame.piece, node, node.name)
    heirs.tell(m, cls, options, site)
    if frame.parent is None:
        for base in bases:
            if isinstance(base, Class):
                base.heirs.append(cls)
    m.state.set(frame.vars, node.name.value, cls)
    if frame.piece.registers and frame.parent is None:
        _decorate(m, node, cls, frame)
    return True


def _metaclass(said: Value | None, bases: tuple[Value, ...]) -> Class | None:
    """Return the metaclass of a class, if that is a class of the program: a class has that of its bases."""
    inherited = (base.metaclass for base in bases if isinstance(base, Class))
    return next((each for each in (said, *inherited) if isinstance(each, Class)), None)


def _fields(node: cst.ClassDef) -> tuple[str, ...]:
    lines = [part for part in node.body.body if isinstance(part, cst.SimpleStatementLine)]
    parts = [part.target for line in lines for part in line.body if isinstance(part, cst.AnnAssign)]
    return tuple(target.value for target in parts if isinstance(target, cst.Name))


@runs(cst.Import)
def _import(m: Trace, node: cst.Import, frame: Frame) -> bool:
    for alias in node.names:
        full = dotted(alias.name)
        if alias.asname is not None:
            bind(m, alias.asname.name, _imported(m, full, None, frame), frame)
        else:
            top = full.partition(".")[0]
            m.state.set(frame.vars, top, _imported(m, top, None, frame))
    return True


@runs(cst.ImportFrom)
def _import_from(m: Trace, node: cst.ImportFrom, frame: Frame) -> bool:
    if isinstance(node.names, cst.ImportStar):
        return True
    module = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
    own = frame.parent is None and frame.piece.path == m.text.file.path
    unused = m.text.file.unused if own else frozenset()
    for alias in node.names:
        name = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(name, cst.Name) and name.value in unused:
            continue  # an `__init__` may import all of a project
        bind(m, name, _imported(m, module, dotted(alias.name), frame), frame)
    return True


def _imported(m: Trace, module: str, name: str | None, frame: Frame) -> Value:
    """What an import binds: a value of the project, or the full name of what is outside of it."""
    found = modules.imported(m, module, name, frame.piece.path)
    return found if found is not None else Ref(module if name is None else f"{module}.{name}")


@runs(cst.Global, cst.Nonlocal)
def _outer(m: Trace, node: cst.Global | cst.Nonlocal, frame: Frame) -> bool:
    frame.outer |= {item.name.value for item in node.names}
    return True
