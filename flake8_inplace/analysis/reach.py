"""Which functions of a file can come to overwrite a tensor, judged from names alone.

A function is worth reading where it may write in place, where something of the file that it mentions may, at any
distance, and where a module that its class makes may. Whatever the others are given, they are no hazard.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..torchfacts import ops as facts

_STEPS = frozenset({"step", "load_state_dict", "data"})
_HARMLESS = frozenset({"requires_grad_", "share_memory_"})
"""Methods with an underscore at the end that leave the values alone."""
_OTHERS = frozenset({"add_", "apply_", "copy_", "log_", "map_", "put_", "random_", "set_"})
"""In-place methods whose out-of-place name is mostly a method of something else, such as a set or a logger."""
_BUILDERS = frozenset({"__init__", "__new__", "__post_init__"})
"""Methods that make an instance: nothing that other methods do comes before them."""
_RUNNERS = frozenset({"forward", "backward", "setup_context", "jvp", "vmap", "step"})
"""Methods that run without being mentioned, as those with two underscores do."""
_COMPUTES = (ast.BinOp, ast.For, ast.While, ast.With, ast.comprehension, ast.Lambda, ast.ClassDef, ast.Yield)
_PLAIN = frozenset({"dict", "list", "tuple", "set", "int", "float", "str", "bool", "len", "range", "isinstance"})
"""Builtins that a function may call and still compute nothing."""
_CONTAINERS = frozenset({"dict", "list", "set", "OrderedDict", "defaultdict", "Counter", "sorted"})
_NOT_OF_TENSORS = frozenset({"append", "extend", "insert", "items", "keys", "get", "update", "setdefault"})
_DISPLAYS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.JoinedStr)
_LEAVES = frozenset(
    "ctx op ops id attr arg name asname module level simple is_async rest kwd_attrs str type_comment kind conversion "
    "annotation returns type_params".split()
)
"""Fields of syntax nodes that hold no expression, or one that does not run."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MAKING = frozenset(
    "arange empty empty_like eye full full_like linspace ones ones_like rand rand_like randint randn randn_like "
    "randperm tensor zeros zeros_like".split()
)
"""Functions of torch that make a tensor without a history."""


@dataclass(slots=True, eq=False)
class Unit:
    """A function at the top level or in a class, or what else stands in a class or in a top-level statement.

    ``mentions`` are the names in it, ``own`` those that it looks up on ``self``, ``strings`` those that it may look
    up by a string, and ``referred`` those of all that it does not only call. ``given`` are names, each after that of
    a function which it is given to in a statement of its own. ``asked`` are attributes of ``self`` that it calls;
    ``calls_parts`` says that it calls something else that may be a part of ``self``. ``writes``: it may overwrite a
    tensor when it runs; ``begins``: by giving parameters their first values; ``returns``: a value, for which that may
    come too late; ``makes``: it may make something that overwrites a tensor when it is called, as
    ``nn.ReLU(inplace=True)`` does. ``calls`` counts its calls, and twice whatever else it computes. ``loads`` are names
    such as ``relu_``, which overwrite if they are among those ``imported`` from modules of torch.
    """

    name: str
    mentions: frozenset[str]
    own: frozenset[str]
    strings: frozenset[str]
    asked: frozenset[str]
    referred: frozenset[str]
    given: frozenset[tuple[str, str]]
    calls_parts: bool
    writes: bool
    makes: bool
    begins: bool
    returns: bool
    calls: int
    loads: frozenset[str]
    imported: frozenset[tuple[str, str]]
    worth: bool = False

    def units(self) -> Iterator[Unit]:
        yield self


@dataclass(slots=True, eq=False)
class Group:
    """A class: its methods and the classes in it, in the order of the text, and what else stands there."""

    name: str
    body: Unit
    bases: frozenset[str]
    parts: dict[ast.stmt, Unit | Group] = field(default_factory=dict)

    @property
    def methods(self) -> list[Unit]:
        return [part for part in self.parts.values() if isinstance(part, Unit)]

    def units(self) -> Iterator[Unit]:
        for part in self.parts.values():
            yield from part.units()
        yield self.body


def read(module: ast.Module) -> list[Unit | Group]:
    """What each top-level statement mentions and may overwrite."""
    readings = {part: _read([part]) for part in module.body if not isinstance(part, ast.ClassDef)}
    variables = Counter[tuple[str, str]]()
    for part, reading in readings.items():
        if not isinstance(part, _FUNCTIONS):
            variables.update(reading.bound)
    return [
        _group(part)
        if isinstance(part, ast.ClassDef)
        else readings[part].unit(part.name, Counter())
        if isinstance(part, _FUNCTIONS)
        else readings[part].unit("", variables)
        for part in module.body
    ]


def _group(node: ast.ClassDef) -> Group:
    methods = {part: _read([part]) for part in node.body if isinstance(part, _FUNCTIONS)}
    rest = [part for part in node.body if not isinstance(part, (*_FUNCTIONS, ast.ClassDef))]
    body = _read([*node.bases, *node.keywords, *node.decorator_list, *rest])
    attributes = Counter[tuple[str, str]]()
    for reading in methods.values():
        attributes.update({key: count for key, count in reading.bound.items() if key[0].startswith(".")})
    bases = frozenset(_last_name(base) for base in node.bases)
    group = Group(node.name, body.unit(node.name, attributes), bases)
    for part in node.body:
        if isinstance(part, ast.ClassDef):
            group.parts[part] = _group(part)
        elif isinstance(part, _FUNCTIONS):
            group.parts[part] = methods[part].unit(part.name, attributes)
    return group


# -- what one unit does


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    if kind in (ast.Constant, ast.MatchSingleton, ast.Global, ast.Nonlocal):
        return ()
    return tuple(name for name in kind._fields if name not in _LEAVES)


@dataclass(slots=True)
class _Reading:
    """A unit while it is read.

    ``bound`` counts how often a variable is bound to "any" value, to a "container" and to a "number", "shown" to be a
    container by a method, and "grown" by what is no number; ``.name`` stands for ``self.name``. So some of those that
    are ``written`` to are no tensors.
    """

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
    bound: Counter[tuple[str, str]] = field(default_factory=Counter)
    writes: bool = False
    makes: bool = False
    begins: bool = False
    returns: bool = False
    calls: int = 0

    def unit(self, name: str, around: Counter[tuple[str, str]]) -> Unit:
        """What was read, where ``around`` it the variables of a module, or the attributes of ``self``, are bound."""
        bound = self.bound | around
        return Unit(
            name,
            frozenset(self.mentions),
            frozenset(self.own),
            frozenset(self.strings),
            frozenset(self.asked),
            frozenset(self.referred),
            frozenset(self.given),
            self.calls_parts or any(bound[name, "any"] for name in self.local),
            self.writes or any(_tensor(name, bound) for name in self.written),
            self.makes,
            self.begins,
            self.returns,
            self.calls,
            frozenset(name for name in self.loads if not self.bound[name, "any"]),
            frozenset(self.imported),
        )


def _tensor(name: str, bound: Counter[tuple[str, str]]) -> bool:
    """Whether a variable that is written to may be a tensor."""
    bindings = bound[name, "any"]
    if bindings <= 1 and bound[name, "shown"]:
        return False
    if bindings == bound[name, "number"] and bound[name, "grown"]:  # loss = 0, then loss += ...
        return True
    return not bindings or bindings not in (bound[name, "container"], bound[name, "number"])


def _read(nodes: list[ast.AST]) -> _Reading:
    """All nodes, parents before their children. No ast.walk, which takes twice the time: most files cost this alone."""
    reading = _Reading()
    while nodes:
        node = nodes.pop()
        kind: Any = type(node)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(reading, node)
        for name in _fields(kind):
            value = getattr(node, name)
            if isinstance(value, list):
                nodes += filter(None, value)
            elif value is not None:
                nodes.append(value)
    return reading


def _variable(node: ast.expr) -> str:
    """A name, or ``.name`` for an attribute of ``self``; empty for everything else."""
    if isinstance(node, ast.Name):
        return node.id
    return f".{node.attr}" if isinstance(node, ast.Attribute) and _is_self(node.value) else ""


def _is_self(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _root(node: ast.expr) -> ast.expr:
    """What an expression is a part of: the ``x`` of ``x.a[0].b``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _refer(r: _Reading, node: ast.AST, name: str) -> None:
    if node in r.passed:
        r.given.add((r.passed[node], name))
    elif node not in r.at_once:
        r.referred.add(name)


def _name(r: _Reading, node: ast.Name) -> None:
    r.mentions.add(node.id)
    _refer(r, node, node.id)
    if isinstance(node.ctx, ast.Store):
        r.bound[node.id, "any"] += 1
    elif node.id.endswith("_"):
        r.loads.add(node.id)


def _argument(r: _Reading, node: ast.arg) -> None:
    r.bound[node.arg, "any"] += 1
    r.makes = r.makes or node.arg == "inplace"


def _attribute(r: _Reading, node: ast.Attribute) -> None:
    name, owner = node.attr, _last_name(node.value)
    (r.own if _is_self(node.value) else r.mentions).add(name)
    _refer(r, node, name)
    if _is_self(node.value) and isinstance(node.ctx, ast.Store):
        r.bound[f".{name}", "any"] += 1
    if owner == "init" or name == "reset_parameters":
        r.begins = True
    elif owner == "operator" and name[:1] == "i":  # operator.iadd
        r.writes = True
    elif name in _STEPS:
        r.writes = r.writes or (name, owner) != ("data", "utils")  # torch.utils.data is a module
    elif name.endswith("_") and not name.endswith("__") and name not in _HARMLESS and not _is_new(node.value):
        r.writes = True
        r.makes = r.makes or node not in r.at_once  # self.act = torch.relu_


def _constant(r: _Reading, node: ast.Constant) -> None:
    name = node.value
    r.makes = r.makes or name == "inplace"  # {"inplace": True}
    if isinstance(name, str) and name.isidentifier() and node not in r.harmless:  # getattr(self, "name")
        r.strings.add(name)
        r.referred.add(name)
        r.bound[f".{name}", "any"] += 1  # register_buffer("name", ...)


def _keyword(r: _Reading, node: ast.keyword) -> None:
    if not isinstance(node.value, ast.Constant) or node.value.value:
        r.writes = r.writes or node.arg == "out"
        r.makes = r.makes or node.arg in ("inplace", "max_norm")


def _call(r: _Reading, node: ast.Call) -> None:
    func = node.func
    r.at_once.add(func)
    r.calls += not isinstance(func, ast.Name) or func.id not in _PLAIN
    if any(isinstance(arg, ast.Constant) and arg.value is True for arg in node.args):
        r.makes = r.makes or _last_name(func) not in _never_inplace()  # nn.ReLU(True)
    if isinstance(func, ast.Name) and func.id == "hasattr":
        r.harmless.update(node.args)
    if isinstance(func, ast.Name) and func.id == "getattr" and any(map(_ends_inplace, node.args[1:])):
        r.writes = True
    if isinstance(func, ast.Attribute) and _is_self(func.value):
        r.asked.add(func.attr)
    elif isinstance(root := _root(func), ast.Name):  # for block in self.blocks: x = block.act(block.norm(x))
        r.local.add(root.id)
    else:
        r.calls_parts = True
    if not isinstance(func, ast.Name) or func.id not in _PLAIN:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        r.calls_parts = r.calls_parts or any(_is_self(_root(arg)) for arg in given)
    if isinstance(func, ast.Attribute) and func.attr == "apply":  # of a module: calls it for every module in it
        r.at_once.update(node.args)
    elif isinstance(func, ast.Attribute) and func.attr in _NOT_OF_TENSORS:
        r.bound[_variable(func.value), "shown"] += 1
    elif isinstance(func, ast.Name) and func.id == "self":
        r.own |= {"forward", "__call__"}


@cache
def _never_inplace() -> frozenset[str]:
    """Names of what does not work, or make something that works, in place where it is called with True."""
    methods = (name for name in facts.tensor_methods() if f"{name}_" not in facts.inplace_methods())
    return frozenset({"getattr", "get", "pop", "setdefault", *methods})


def _is_new(node: ast.expr) -> bool:
    """Whether an expression is a tensor just made, that nothing has saved: ``torch.rand(3)``, ``x.clone()``."""
    if not isinstance(node, ast.Call) or any(word.arg in (None, "requires_grad") for word in node.keywords):
        return False
    func = node.func
    if not isinstance(func, ast.Attribute):
        return False
    made = func.attr in _MAKING and isinstance(func.value, ast.Name) and func.value.id == "torch"
    return made or func.attr == "clone" or func.attr.startswith("new_")


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
        if _last_name(target) == "inplace" and value is not None:
            r.makes = r.makes or not isinstance(value, ast.Constant) or bool(value.value)
        name = _variable(target)
        if name:
            r.bound[name, "container"] += value is None or _is_container(value)
            r.bound[name, "number"] += value is None or _is_number(value)
        elif isinstance(value, (ast.Dict, ast.DictComp, ast.Lambda)) or _is_text(value):
            r.harmless.add(target)


def _augment(r: _Reading, node: ast.AugAssign) -> None:
    name = _variable(node.target)
    if name:
        r.written.add(name)
        r.bound[name, "any"] -= 1  # which it counts for as a target
        r.bound[name, "grown"] += not isinstance(node.value, ast.Constant)
    else:
        r.writes = r.writes or not _is_container(node.value)
        r.harmless.add(node.target)


def _subscript(r: _Reading, node: ast.Subscript) -> None:
    if not isinstance(node.ctx, ast.Store) or node in r.harmless or _is_text(node.slice):
        return
    name = _variable(node.value)
    if name:
        r.written.add(name)
    else:
        r.writes = True


def _import(r: _Reading, node: ast.ImportFrom) -> None:
    module = node.module or ""
    if module.partition(".")[0] == "torch":
        r.imported.update((module, alias.asname or alias.name) for alias in node.names)


def _outer(r: _Reading, node: ast.Global) -> None:
    for name in node.names:
        r.bound[name, "any"] += 1


def _return(r: _Reading, node: ast.Return) -> None:
    r.returns = r.returns or node.value is not None


def _computes(r: _Reading, node: ast.AST) -> None:
    r.calls += 2


def _is_container(node: ast.expr) -> bool:
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return isinstance(node, _DISPLAYS) or called in _CONTAINERS or _is_text(node)


def _is_number(node: ast.expr) -> bool:
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    known = isinstance(node, ast.Constant) and node.value is not None  # where None stands, others bind the value
    return known or called in ("len", "int", "float")


def _is_text(node: ast.expr | None) -> bool:
    """Whether this is a string, which is no index of a tensor and nothing that a tensor can hold."""
    while isinstance(node, ast.BinOp):
        if _is_text(node.right):
            return True
        node = node.left
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


_HANDLERS: dict[type, Callable[[_Reading, Any], None]] = {
    **dict.fromkeys(_COMPUTES, _computes),
    ast.Name: _name,
    ast.arg: _argument,
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


# -- what the units of a file do to one another


def mark(parts: Iterable[tuple[frozenset[str], Unit | Group]], everything: bool = False) -> bool:
    """Mark what is worth reading of top-level statements, each with the names that it binds; False if nothing is.

    ``everything`` is, where what code of other files may overwrite is asked for as well.
    """
    file = _File({}, [], [])
    for names, part in parts:
        file.add(part, names, None)
    users = file.users()
    mentions = frozenset[str]().union(*(unit.mentions for unit, _ in file.units))
    trains = not mentions.isdisjoint(("backward", "grad"))
    imported = frozenset[tuple[str, str]]().union(*(unit.imported for unit, _ in file.units))
    first = {name for module, name in imported if module == "torch.nn.init"}
    others = {name for module, name in imported if module != "torch.nn.init"}
    reached: list[Hashable] = []
    for unit, owner in file.units:
        custom = owner is not None and "Function" in owner.bases
        writes = unit.writes or not others.isdisjoint(unit.loads)
        begins = unit.begins or not first.isdisjoint(unit.loads)
        if writes or unit.makes or custom or (begins and (trains or unit.returns)):
            reached.append(("runs", unit))
        if unit.makes:
            reached.append(("makes", unit))
    seen = set(reached)
    while reached:
        for user in users.get(reached.pop(), ()):
            if user not in seen:
                seen.add(user)
                reached.append(user)
    for unit, _ in file.units:
        unit.worth = everything or ("runs", unit) in seen
    return everything or bool(seen)


@dataclass(frozen=True, slots=True)
class _File:
    """What all names of a file may stand for, its units with their classes, and its classes."""

    defined: dict[str, list[Unit | Group]]
    units: list[tuple[Unit, Group | None]]
    groups: list[Group]

    def add(self, part: Unit | Group, names: Iterable[str], owner: Group | None) -> None:
        for name in names:
            self.defined.setdefault(name, []).append(part)
        if isinstance(part, Unit):
            self.units.append((part, owner))
            return
        self.groups.append(part)
        self.units.append((part.body, part))
        for inner in part.parts.values():
            self.add(inner, (inner.name,), part)

    def foreign(self, name: str) -> bool:
        """Whether a name is imported, from elsewhere than torch: nobody follows what it does with a function."""
        found = self.defined.get(name, ())
        return bool(found) and all(isinstance(p, Unit) and not p.mentions and not p.imported for p in found)

    def bases(self, group: Group) -> list[Group]:
        found = (other for name in group.bases for other in self.defined.get(name, ()))
        return [other for other in found if isinstance(other, Group) and other is not group]

    def families(self) -> dict[Group, int]:
        """For every class the number of those that inherit from one another with it."""
        relatives: dict[Group, list[Group]] = {group: [] for group in self.groups}
        for group in self.groups:
            for base in self.bases(group):
                relatives[group].append(base)
                relatives[base].append(group)
        found: dict[Group, int] = {}
        for number, group in enumerate(self.groups):
            todo = [group]
            while todo:
                relative = todo.pop()
                if relative not in found:
                    found[relative] = number
                    todo += relatives[relative]
        return found

    def users(self) -> dict[Hashable, list[Hashable]]:
        """From each way of overwriting to those that it leads to.

        A unit "runs" something that overwrites, or only "makes" it; of a class "parts" are what an instance is made of,
        and an "instance" is what others may call. Names stand between what defines them and what mentions them; those
        of methods a second time, with the number of their family, for what is looked up on ``self``.
        """
        users: dict[Hashable, list[Hashable]] = {}
        families = self.families()
        methods = {(families[group], method.name) for group in self.groups for method in group.methods}

        def lead(way: Hashable, *others: Hashable) -> None:
            users.setdefault(way, []).extend(others)

        def define(name: Hashable, unit: Unit) -> None:
            lead(("runs", unit), ("runs", name), ("keeps", name))
            lead(("makes", unit), ("makes", name))

        def mention(unit: Unit, name: Hashable, kept: bool) -> None:
            lead(("runs", name), ("runs", unit))
            lead(("makes", name), ("makes", unit))
            if kept:  # it runs when what is made runs
                lead(("keeps", name), ("makes", unit))

        for name, found in self.defined.items():
            for part in found:
                if isinstance(part, Unit):
                    define(name, part)
                else:
                    lead(("instance", part), ("runs", name), ("makes", name))
        for unit, owner in self.units:
            referred = unit.referred.union(name for callee, name in unit.given if not self.foreign(callee))
            for name in unit.mentions | unit.strings:
                if name in self.defined and not name.startswith("__"):
                    mention(unit, name, name in referred)
            if owner is None:
                continue
            family = families[owner]
            for name in unit.own | unit.strings:
                if (family, name) in methods:
                    mention(unit, (family, name), name in referred)
            if unit.calls_parts or any((family, name) not in methods for name in unit.asked):
                lead(("parts", owner), ("runs", unit))
        for group in self.groups:
            lead(("runs", group.body), ("parts", group))
            lead(("parts", group), ("instance", group))
            for method in group.methods:
                define((families[group], method.name), method)
                if method.name in _BUILDERS:
                    lead(("makes", method), ("parts", group))
                elif method.name in _RUNNERS or method.name.startswith("__"):
                    lead(("runs", method), ("instance", group))
            for base in self.bases(group):
                lead(("parts", base), ("parts", group))
                lead(("instance", base), ("instance", group))
        return users
