"""What one function or class mentions, calls and may overwrite, read from its ``ast`` in one pass."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..torchfacts import arrays
from ..torchfacts import ops as facts
from .locals import (
    Bindings,
    is_container,
    is_new,
    is_self,
    is_text,
    last_name,
    numeric,
    only_filled,
    root,
    says_number,
    variable,
)
from .units import Group, Triggers, Unit

_HARMLESS = frozenset({"requires_grad_", "share_memory_"})
"""Methods with an underscore at the end that leave the values alone. A checker may be after them all the same."""
_OTHERS = frozenset({"add_", "apply_", "copy_", "log_", "map_", "put_", "random_", "set_"})
"""In-place methods whose out-of-place name is mostly a method of something else, such as a set or a logger."""
_COMPUTES = (ast.BinOp, ast.While, ast.With, ast.Lambda, ast.ClassDef, ast.Yield)
_PLAIN = frozenset({"dict", "list", "tuple", "set", "int", "float", "str", "bool", "len", "range", "isinstance"})
"""Builtins that a function may call and still compute nothing."""
_NOT_OF_TENSORS = frozenset({"append", "extend", "insert", "items", "keys", "get", "update", "setdefault"})
_OVERWRITING = frozenset({"torch", "liger_kernel"})
"""Packages that have functions which overwrite what they are given."""
_LEAVES = frozenset(
    "ctx op ops id attr arg name asname module level simple is_async rest kwd_attrs str type_comment kind conversion "
    "annotation returns type_params".split()
)
"""Fields of syntax nodes that hold no expression, or one that does not run."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def read(module: ast.Module, triggers: Triggers) -> list[Unit | Group]:
    """What each top-level statement mentions and may overwrite."""
    readings = {part: _read([part], triggers) for part in module.body if not isinstance(part, ast.ClassDef)}
    classes = {part: _Class(part, triggers) for part in module.body if isinstance(part, ast.ClassDef)}
    variables = Bindings()
    for part, reading in readings.items():
        if not isinstance(part, _FUNCTIONS):
            variables.include(reading.bound, lambda name: True)
    for reading in (*readings.values(), *(each for one in classes.values() for each in one.readings())):
        if reading.outer:
            reading.bound.give(variables, reading.outer)
    return [
        classes[part].group(variables)
        if isinstance(part, ast.ClassDef)
        else readings[part].unit(part.name, Bindings(), variables)
        if isinstance(part, _FUNCTIONS)
        else readings[part].unit("", variables, Bindings())
        for part in module.body
    ]


class _Class:
    """A class while it is read."""

    def __init__(self, node: ast.ClassDef, triggers: Triggers) -> None:
        rest = [part for part in node.body if not isinstance(part, (*_FUNCTIONS, ast.ClassDef))]
        self._node = node
        self._body = _read([*node.bases, *node.keywords, *node.decorator_list, *rest], triggers)
        self._methods = {part: _read([part], triggers) for part in node.body if isinstance(part, _FUNCTIONS)}
        self._classes = {part: _Class(part, triggers) for part in node.body if isinstance(part, ast.ClassDef)}

    def readings(self) -> Iterator[_Reading]:
        """What is read of it, and of the classes in it."""
        yield self._body
        yield from self._methods.values()
        for inner in self._classes.values():
            yield from inner.readings()

    def group(self, variables: Bindings) -> Group:
        """What was read, where ``variables`` are those of the module."""
        attributes = Bindings()
        for reading in self._methods.values():
            attributes.include(reading.bound, lambda name: name.startswith("."))
        name, bases = self._node.name, frozenset(last_name(base) for base in self._node.bases)
        group = Group(name, self._body.unit(name, attributes, variables), bases)
        for part in self._node.body:
            if isinstance(part, ast.ClassDef):
                group.parts[part] = self._classes[part].group(variables)
            elif isinstance(part, _FUNCTIONS):
                group.parts[part] = self._methods[part].unit(part.name, attributes, variables)
        return group


@cache
def _plan(kind: Any) -> tuple[Callable[[_Reading, Any], None] | None, tuple[str, ...]]:
    """What reads a node of this kind, and its fields that hold what else is to be read."""
    alone = kind in (ast.Constant, ast.MatchSingleton, ast.Global, ast.Nonlocal)
    return _HANDLERS.get(kind), () if alone else tuple(name for name in kind._fields if name not in _LEAVES)


@dataclass(slots=True)
class _Reading:
    """A unit while it is read.

    From what the variables are ``bound`` to it shows that some of those that are ``written`` to are no tensors; those
    that are written to ``in_parts`` (``x[i] += 1``) may hold some. ``options`` are parameters that are said, or by
    default, to be numbers. ``keyed`` are the variables that something is written at, ``x[key] = ...``, each with the
    names of what is. That is no tensor where the key is text: string methods of it are called (``texts``), and nothing
    binds it to a number.
    """

    node: ast.AST | None
    triggers: Triggers
    mentions: set[str] = field(default_factory=set)
    referred: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    local: set[str] = field(default_factory=set)
    calls_parts: bool = False
    loads: set[str] = field(default_factory=set)
    imported: set[tuple[str, str]] = field(default_factory=set)
    at_once: set[ast.AST] = field(default_factory=set)
    passed: dict[ast.AST, str] = field(default_factory=dict)
    given: set[tuple[str, str]] = field(default_factory=set)
    harmless: set[ast.AST] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    in_parts: set[str] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)  # of what is overwritten by a method: x[i].zero_()
    keyed: dict[str, set[str]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    options: dict[str, int] = field(default_factory=dict)
    bound: Bindings = field(default_factory=Bindings)
    outer: set[str] = field(default_factory=set)  # global variables that it binds
    writes: bool = False
    makes: bool = False
    begins: bool = False
    returns: bool = False
    calls: int = 0

    def unit(self, name: str, inner: Bindings, outer: Bindings) -> Unit:
        """What was read; variables are looked for in the scope ``inner``, in its own, and in the ``outer`` one."""
        around = (inner, self.bound, outer)
        builds = name == "__init__"  # it computes nothing that is differentiated, and its options are numbers
        for option, times in self.options.items() if builds else ():
            self.bound.number(option, frozenset(), times)
        for index, names in self.keyed.items():
            if index not in self.texts or index in self.bound.numbers:
                self._write(names)
        tensors = {name for name in self.written if self.bound.is_tensor(name, around, not builds)}
        tensors |= self.in_parts  # an element of a list may be a tensor
        filled = only_filled(self.node, {name for name in tensors if self._new(name)})
        return Unit(
            name,
            frozenset(self.mentions),
            frozenset(self.own),
            frozenset(self.strings),
            frozenset(self.asked),
            frozenset(self.referred),
            frozenset(self.given),
            self.calls_parts or any(self.bound.binds(name, around) for name in self.local),
            self.writes or tensors > filled,
            not self.parameters.isdisjoint(self.bound.roots(tensors | self.indices, around)),
            bool(filled),
            self.makes,
            self.begins,
            self.returns,
            self.calls,
            frozenset(name for name in self.loads if not self.bound.counts[name, "any"]),
            frozenset(self.imported),
        )

    def _write(self, names: set[str]) -> None:
        """Note writes to variables, the empty one for something else."""
        self.writes = self.writes or "" in names
        self.written |= names - {""}

    def _new(self, name: str) -> bool:
        """Whether a variable is bound to tensors alone that are made where it is."""
        new = 0 if name.startswith(".") else self.bound.counts[name, "new"]
        return new > 0 and new == self.bound.counts[name, "any"]


def _read(nodes: list[ast.AST], triggers: Triggers) -> _Reading:
    """All nodes, parents before their children. No ast.walk, which takes twice the time: most files cost this alone."""
    reading = _Reading(nodes[0] if nodes else None, triggers)
    while nodes:
        node = nodes.pop()
        kind: Any = type(node)
        handler, fields = _plan(kind)
        if handler is not None:
            handler(reading, node)
        for name in fields:
            value = getattr(node, name)
            if type(value) is list:
                nodes += filter(None, value)
            elif value is not None:
                nodes.append(value)
    return reading


def _refer(r: _Reading, node: ast.AST, name: str) -> None:
    if node in r.passed:
        r.given.add((r.passed[node], name))
    elif node not in r.at_once:
        r.referred.add(name)


def _name(r: _Reading, node: ast.Name) -> None:
    r.mentions.add(node.id)
    _refer(r, node, node.id)
    if isinstance(node.ctx, ast.Store):
        r.bound.bind(node.id)
    elif node.id.endswith("_"):
        r.loads.add(node.id)


def _argument(r: _Reading, node: ast.arg) -> None:
    r.bound.bind(node.arg)
    r.parameters.add(node.arg)
    if says_number(node.annotation):
        r.options[node.arg] = r.options.get(node.arg, 0) + 1
    r.makes = r.makes or node.arg == "inplace"


def _attribute(r: _Reading, node: ast.Attribute) -> None:
    name, owner = node.attr, last_name(node.value)
    (r.own if is_self(node.value) else r.mentions).add(name)
    _refer(r, node, name)
    if is_self(node.value) and isinstance(node.ctx, ast.Store):
        r.bound.bind(f".{name}")
    if owner == "init" or name == "reset_parameters":
        r.begins = True
    elif owner == "operator" and name[:1] == "i":  # operator.iadd
        r.writes = True
    elif name in arrays.writing_methods() and node in r.at_once and not is_container(node.value):
        owned = variable(node.value)
        r.written |= {owned} if owned else set()
        r.writes = r.writes or not owned
    elif name in r.triggers.names or (type(node.ctx) is ast.Store and f"{name}=" in r.triggers.names):
        r.writes = r.writes or (name, owner) != ("data", "utils")  # torch.utils.data is a module
    elif name.endswith("_") and not name.endswith("__") and name not in _HARMLESS and not is_new(node.value):
        _inplace_method(r, node)


def _inplace_method(r: _Reading, node: ast.Attribute) -> None:
    owned = variable(node.value) if node in r.at_once else ""
    r.in_parts |= {owned} if owned else set()  # numbers and containers have no such methods
    if isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.Name):
        r.indices.add(node.value.slice.id)
    r.writes = r.writes or not owned
    r.makes = r.makes or node not in r.at_once  # self.act = torch.relu_


def _constant(r: _Reading, node: ast.Constant) -> None:
    name = node.value
    r.makes = r.makes or name == "inplace"  # {"inplace": True}
    if isinstance(name, str) and name.isidentifier() and node not in r.harmless:  # getattr(self, "name")
        r.strings.add(name)
        r.referred.add(name)
        r.bound.bind(f".{name}")  # register_buffer("name", ...)
    elif isinstance(name, str) and _is_dotted(name):  # instantiate({"_target_": "package.module.Class"})
        r.mentions.add(name)


def _is_dotted(text: str) -> bool:
    return "." in text and len(text) < 200 and text.replace(".", "").replace(":", "").isidentifier()


def _keyword(r: _Reading, node: ast.keyword) -> None:
    if not isinstance(node.value, ast.Constant) or node.value.value:
        r.writes = r.writes or node.arg == "out"
        r.makes = r.makes or node.arg in ("inplace", "max_norm")
        if node.arg == "requires_grad":  # who makes a leaf computes gradients
            r.mentions.add(node.arg)


def _call(r: _Reading, node: ast.Call) -> None:
    func = node.func
    r.at_once.add(func)
    r.calls += not isinstance(func, ast.Name) or func.id not in _PLAIN
    if any(isinstance(arg, ast.Constant) and arg.value is True for arg in node.args):
        r.makes = r.makes or last_name(func) not in facts.never_inplace()  # nn.ReLU(True)
    if isinstance(func, ast.Name) and func.id == "hasattr":
        r.harmless.update(node.args)
    if last_name(func) in ("getattr", "methodcaller") and any(map(_ends_inplace, node.args)):
        r.writes = True
    r.writes = r.writes or arrays.gives_output(last_name(func), len(node.args), [k.arg for k in node.keywords])
    _callee(r, func)
    if not isinstance(func, ast.Name) or func.id not in _PLAIN:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        r.calls_parts = r.calls_parts or any(is_self(root(arg)) for arg in given)
    if isinstance(func, ast.Attribute) and func.attr == "apply":  # of a module: calls it for every module in it
        r.at_once.update(part for arg in node.args for part in ast.walk(arg))  # apply(partial(f, scale)), too


def _callee(r: _Reading, func: ast.expr) -> None:
    if isinstance(func, ast.Attribute) and is_self(func.value):
        r.asked.add(func.attr)
    elif isinstance(owner := root(func), ast.Name):  # for block in self.blocks: x = block.act(block.norm(x))
        r.local.add(owner.id)
    else:
        r.calls_parts = True
    if isinstance(func, ast.Attribute) and func.attr in _NOT_OF_TENSORS:
        r.bound.counts[variable(func.value), "shown"] += 1
    elif isinstance(func, ast.Attribute) and func.attr in facts.methods_of_text():
        r.texts.add(variable(func.value))
    elif isinstance(func, ast.Name) and func.id == "self":
        r.own |= {"forward", "__call__"}


def _ends_inplace(name: ast.expr) -> bool:
    """Whether a name that is put together may be that of an in-place method: ``getattr(x, op + "_")``."""
    if isinstance(name, ast.BinOp):
        return _ends_inplace(name.right)
    last = name.values[-1] if isinstance(name, ast.JoinedStr) and name.values else name
    return isinstance(last, ast.Constant) and isinstance(last.value, str) and last.value.endswith("_")


def _expression(r: _Reading, node: ast.Expr) -> None:
    call = node.value if isinstance(node.value, ast.Call) else None
    if call is not None and isinstance(call.func, ast.Attribute):  # x.clamp(0, 1)
        r.writes = r.writes or f"{call.func.attr}_" in _confused()
    elif call is not None and isinstance(call.func, ast.Name):  # named_apply(partial(init_weights, scale), self)
        inside = (part for arg in (*call.args, *call.keywords) for part in ast.walk(arg))
        r.passed.update((part, call.func.id) for part in inside if isinstance(part, (ast.Name, ast.Attribute)))


@cache
def _confused() -> frozenset[str]:
    twins = facts.inplace_methods() - _OTHERS
    return frozenset(name for name in twins if name[:-1] in facts.tensor_methods())


def _assign(r: _Reading, node: ast.Assign | ast.AnnAssign) -> None:
    value = node.value
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if last_name(target) == "inplace" and value is not None:
            r.makes = r.makes or not isinstance(value, ast.Constant) or bool(value.value)
        name = variable(target)
        if name:
            r.bound.assign(name, value, alone=not isinstance(node, ast.Assign) or len(node.targets) == 1)
        elif isinstance(value, (ast.Dict, ast.DictComp, ast.Lambda)) or is_text(value):
            r.harmless.add(target)
        elif isinstance(target, ast.Tuple) and value is not None:
            _unpack(r, target, value)


def _unpack(r: _Reading, target: ast.Tuple, value: ast.expr) -> None:
    """``a, b = 0, 1``, or ``rows, columns = x.shape``."""
    values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
    sizes = isinstance(value, ast.Tuple) or last_name(value) == "shape" or _method(value) == "size"
    plain = sizes and not any(isinstance(one, ast.Starred) for one in (*target.elts, *values))
    for name, one in zip(map(variable, target.elts), values, strict=False) if plain else ():
        if name:
            r.bound.assign(name, one)


def _method(node: ast.expr) -> str:
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def _loop(r: _Reading, node: ast.For | ast.AsyncFor | ast.comprehension) -> None:
    """``for i in range(...)``, ``for i, x in enumerate(...)``."""
    _computes(r, node)
    target, called = node.target, node.iter.func if isinstance(node.iter, ast.Call) else None
    over = called.id if isinstance(called, ast.Name) else ""
    if over == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    if over in ("enumerate", "range") and isinstance(target, ast.Name):
        r.bound.number(target.id, frozenset())


def _parameters(r: _Reading, node: ast.arguments) -> None:
    """An option that is a number by default is mostly one."""
    places = [*node.posonlyargs, *node.args]
    given = [*zip(places[len(places) - len(node.defaults) :], node.defaults, strict=True)]
    given += [(arg, default) for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True) if default]
    for arg, default in given:
        if arg.annotation is None and numeric(default) == frozenset():
            r.options[arg.arg] = r.options.get(arg.arg, 0) + 1


def _augment(r: _Reading, node: ast.AugAssign) -> None:
    name = variable(node.target)
    if name:
        r.written.add(name)
        r.bound.augment(name, node.value)
    elif not is_container(node.value):
        whole = variable(node.target.value) if isinstance(node.target, ast.Subscript) else ""
        r.in_parts.add(whole)
    r.harmless.add(node.target)


def _subscript(r: _Reading, node: ast.Subscript) -> None:
    if not isinstance(node.ctx, ast.Store) or node in r.harmless or is_text(node.slice):
        return
    index = variable(node.slice)
    if index:
        r.keyed.setdefault(index, set()).add(variable(node.value))
    else:
        r._write({variable(node.value)})


def _import(r: _Reading, node: ast.ImportFrom) -> None:
    module = node.module or ""
    if module.partition(".")[0] in _OVERWRITING:
        r.imported.update((module, alias.asname or alias.name) for alias in node.names)
        r.mentions.update(alias.name for alias in node.names if alias.name in r.triggers.contexts)


def _outer(r: _Reading, node: ast.Global) -> None:
    r.outer.update(node.names)


def _return(r: _Reading, node: ast.Return) -> None:
    r.returns = r.returns or node.value is not None


def _computes(r: _Reading, node: ast.AST) -> None:
    r.calls += 2


_HANDLERS: dict[type, Callable[[_Reading, Any], None]] = {
    **dict.fromkeys(_COMPUTES, _computes),
    ast.Name: _name,
    ast.arg: _argument,
    ast.arguments: _parameters,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.comprehension: _loop,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.keyword: _keyword,
    ast.Call: _call,
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _assign,
    ast.AugAssign: _augment,
    ast.Subscript: _subscript,
    ast.ImportFrom: _import,
    ast.Global: _outer,
    ast.Return: _return,
}
