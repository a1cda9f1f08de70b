"""libcst's tree of a program, made from the ``ast`` that flake8 has parsed already.

It is the tree that libcst's own parser makes of the same text, without what says nothing to the analysis: comments,
spaces, and parentheses. Nothing is parsed twice, and no grammar is needed but that of the running Python.

Where most nodes pass, the analysis asks for ``type(node) is cst.Name``: the classes of libcst are abstract ones, for
which ``isinstance`` takes ten times as long to say no.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import libcst as cst

from ..finding import Place

_Setter = Callable[[Any, Any], None]


class UnknownSyntax(SyntaxError):
    """A syntax of Python that is not known here."""


class Tree:
    """Nodes of libcst, and where in ``lines``, those of the file, they stand.

    Of the functions in ``apart``, which hold something for each, only the heads are made; ``heads`` has what they hold.
    """

    def __init__(self, lines: Sequence[str], apart: Mapping[Any, Any] | None = None) -> None:
        self.heads: dict[cst.FunctionDef, Any] = {}
        self._lines = lines
        self._apart = apart or {}
        self._origins: dict[cst.CSTNode, ast.AST] = {}
        self._tokens: dict[cst.CSTNode, ast.AST] = {}

    def make(self, node: ast.AST) -> Any:
        """The node of libcst for one of ``ast``. Raises UnknownSyntax."""
        maker = _MAKERS.get(type(node))
        if maker is None:
            raise UnknownSyntax(f"{type(node).__name__} is not known")
        made = maker(self, node)
        self._origins[made] = node
        return made

    def all(self, nodes: Iterable[ast.AST]) -> tuple[Any, ...]:
        """The nodes of libcst for several."""
        return tuple([self.make(node) for node in nodes])

    def maybe(self, node: ast.AST | None) -> Any:
        return None if node is None else self.make(node)

    def block(self, body: Sequence[ast.stmt]) -> cst.IndentedBlock:
        """The body of a compound statement, without docstrings."""
        made: cst.IndentedBlock = _node(cst.IndentedBlock, body=self.all(n for n in body if not _is_constant(n)))
        return made

    def token(self, kind: type[Any], before: ast.AST) -> Any:
        """The first token after an expression."""
        made = _node(kind)
        self._tokens[made] = before
        return made

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, **fields: Any) -> cst.FunctionDef:
        """A function, or its head."""
        apart = node in self._apart
        body = _node(cst.IndentedBlock, body=()) if apart else self.block(node.body)
        made: cst.FunctionDef = _node(cst.FunctionDef, body=body, **fields)
        if apart:
            self.heads[made] = self._apart[node]
        return made

    def place(self, node: cst.CSTNode) -> Place:
        """Where a node stands in the file."""
        if node in self._tokens:
            return self._after(self._tokens[node])
        origin: Any = self._origins[node]
        if isinstance(node, cst.Name) and type(origin) is ast.Attribute:  # the name after the dot
            return self._place(origin.end_lineno or 0, (origin.end_col_offset or 0) - len(origin.attr.encode()))
        return self._place(origin.lineno, origin.col_offset)

    def text(self, node: cst.CSTNode) -> str:
        """What stands there, on one line."""
        if node in self._tokens:
            return cst.Module(()).code_for_node(node).strip()
        origin: Any = self._origins[node]
        if origin.lineno != origin.end_lineno:
            return ast.unparse(origin)
        text: bytes = self._lines[origin.lineno - 1].encode()[origin.col_offset : origin.end_col_offset]
        return text.decode()

    def _place(self, line: int, column: int) -> Place:
        return Place(line, len(self._lines[line - 1].encode()[:column].decode()))

    def _after(self, before: Any) -> Place:
        line, column = before.end_lineno, before.end_col_offset
        while True:
            rest = self._lines[line - 1].encode()[column:].decode().partition("#")[0]
            said = rest.lstrip(" \t\f)\\\n")
            if said:
                return Place(line, self._place(line, column).column + len(rest) - len(said))
            line, column = line + 1, 0


def expression(text: str) -> cst.BaseExpression:
    """The tree of an expression on its own. Raises SyntaxError, and ValueError for what is no text of a program."""
    found: cst.BaseExpression = Tree(text.split("\n")).make(ast.parse(text, mode="eval").body)
    return found


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a node is made of, as its ``children``, which libcst finds by making the node anew."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None and not isinstance(value, (str, cst.MaybeSentinel)):
            yield value


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _node(kind: Any, **fields: Any) -> Any:
    """A node, made without the checks of libcst: what comes from an ``ast`` has passed those of Python."""
    setters, others = _slots(kind)
    made = object.__new__(kind)
    for setter, value in others:
        setter(made, value)
    for name, value in fields.items():
        setters[name](made, value)
    return made


def _word(text: str) -> Any:
    return _node(cst.Name, value=text)


@cache
def _slots(kind: Any) -> tuple[dict[str, _Setter], list[tuple[_Setter, Any]]]:
    """What sets the fields of a node, which is frozen, and those that have a default, with the default."""
    fields = dataclasses.fields(kind)
    setters = {field.name: getattr(kind, field.name).__set__ for field in fields}
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    return setters, [(setters[name], value) for name, value in (defaults | _spaces(kind)).items()]


@cache
def _spaces(kind: Any) -> dict[str, Any]:
    """What libcst would make anew for each node of a kind, though it says nothing: one is enough for all of them."""
    fields = dataclasses.fields(kind)
    return {field.name: field.default_factory() for field in fields if field.default_factory is not dataclasses.MISSING}


_SILENT = frozenset({"lpar", "rpar", "lbracket", "rbracket", "comma", "dot", "equal", "semicolon"})


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in _SILENT | _spaces(kind).keys())


# -- expressions

_BINARY: dict[type, type] = {
    ast.Add: cst.Add, ast.Sub: cst.Subtract, ast.Mult: cst.Multiply, ast.Div: cst.Divide,
    ast.FloorDiv: cst.FloorDivide, ast.Mod: cst.Modulo, ast.Pow: cst.Power, ast.MatMult: cst.MatrixMultiply,
    ast.BitAnd: cst.BitAnd, ast.BitOr: cst.BitOr, ast.BitXor: cst.BitXor, ast.LShift: cst.LeftShift,
    ast.RShift: cst.RightShift,
}  # fmt: skip
_AUGMENTED: dict[type, type] = {kind: getattr(cst, f"{made.__name__}Assign") for kind, made in _BINARY.items()}
_UNARY = {ast.USub: cst.Minus, ast.UAdd: cst.Plus, ast.Invert: cst.BitInvert, ast.Not: cst.Not}
_COMPARISON: dict[type, type] = {
    ast.Eq: cst.Equal, ast.NotEq: cst.NotEqual, ast.Lt: cst.LessThan, ast.LtE: cst.LessThanEqual,
    ast.Gt: cst.GreaterThan, ast.GtE: cst.GreaterThanEqual, ast.Is: cst.Is, ast.IsNot: cst.IsNot, ast.In: cst.In,
    ast.NotIn: cst.NotIn,
}  # fmt: skip


def _name(t: Tree, node: ast.Name) -> Any:
    return _word(node.id)


def _attribute(t: Tree, node: ast.Attribute) -> Any:
    name = _word(node.attr)
    t._origins[name] = node
    return _node(cst.Attribute, value=t.make(node.value), attr=name)


def _constant(t: Tree, node: ast.Constant) -> Any:
    value = node.value
    if value is None or isinstance(value, bool):
        return _word(str(value))
    if isinstance(value, (str, bytes)):
        return _node(cst.SimpleString, value=repr(value))
    if isinstance(value, int):
        text = str(value) if value.bit_length() < 4000 else hex(value)  # str() refuses thousands of digits
        return _node(cst.Integer, value=text)
    if value is ...:
        return _node(cst.Ellipsis)
    text = repr(value).replace("inf", "1e999")
    return _node(cst.Imaginary, value=text) if isinstance(value, complex) else _node(cst.Float, value=text)


def _string(t: Tree, node: Any) -> Any:
    return _node(cst.FormattedString, parts=tuple(_part(t, value) for value in node.values))


def _part(t: Tree, node: ast.expr) -> Any:
    return _node(cst.FormattedStringText, value=str(node.value)) if isinstance(node, ast.Constant) else t.make(node)


def _formatted(t: Tree, node: Any) -> Any:
    conversion = None if node.conversion < 0 else chr(node.conversion)
    spec = None if node.format_spec is None else t.make(node.format_spec).parts
    return _node(cst.FormattedStringExpression, expression=t.make(node.value), conversion=conversion, format_spec=spec)


def _elements(t: Tree, nodes: list[ast.expr]) -> tuple[Any, ...]:
    return tuple(
        t.make(node) if isinstance(node, ast.Starred) else _node(cst.Element, value=t.make(node)) for node in nodes
    )


def _dict(t: Tree, node: ast.Dict) -> Any:
    elements = [
        _node(cst.StarredDictElement, value=t.make(value))
        if key is None
        else _node(cst.DictElement, key=t.make(key), value=t.make(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return _node(cst.Dict, elements=tuple(elements))


def _binary(t: Tree, node: ast.BinOp) -> Any:
    left, operator = t.make(node.left), t.token(_BINARY[type(node.op)], node.left)
    return _node(cst.BinaryOperation, left=left, operator=operator, right=t.make(node.right))


def _unary(t: Tree, node: ast.UnaryOp) -> Any:
    return _node(cst.UnaryOperation, operator=_node(_UNARY[type(node.op)]), expression=t.make(node.operand))


def _boolean(t: Tree, node: ast.BoolOp) -> Any:
    kind = cst.And if isinstance(node.op, ast.And) else cst.Or
    left, *others = t.all(node.values)
    for right in others:
        left = _node(cst.BooleanOperation, left=left, operator=_node(kind), right=right)
        t._origins[left] = node
    return left


def _comparison(t: Tree, node: ast.Compare) -> Any:
    left, before, targets = t.make(node.left), node.left, []
    for op, right in zip(node.ops, node.comparators, strict=True):
        operator = t.token(_COMPARISON[type(op)], before)
        targets.append(_node(cst.ComparisonTarget, operator=operator, comparator=t.make(right)))
        before = right
    return _node(cst.Comparison, left=left, comparisons=tuple(targets))


def _call(t: Tree, node: ast.Call) -> Any:
    return _node(cst.Call, func=t.make(node.func), args=(*_arguments(t, node.args), *_keywords(t, node.keywords)))


def _arguments(t: Tree, nodes: list[ast.expr]) -> list[Any]:
    return [
        _node(cst.Arg, value=t.make(node.value), star="*")
        if isinstance(node, ast.Starred)
        else _node(cst.Arg, value=t.make(node))
        for node in nodes
    ]


def _keywords(t: Tree, nodes: list[ast.keyword]) -> list[Any]:
    return [
        _node(cst.Arg, value=t.make(node.value), star="**")
        if node.arg is None
        else _node(cst.Arg, value=t.make(node.value), keyword=_word(node.arg))
        for node in nodes
    ]


def _subscript(t: Tree, node: ast.Subscript) -> Any:
    value, bracket = t.make(node.value), t.token(cst.LeftSquareBracket, node.value)
    if isinstance(node.slice, ast.Tuple) and node.slice.elts:
        elements = [_node(cst.SubscriptElement, slice=_index(t, part)) for part in node.slice.elts]
        if len(elements) == 1:  # x[a,]
            elements = [elements[0].with_changes(comma=_node(cst.Comma))]
    else:
        elements = [_node(cst.SubscriptElement, slice=_index(t, node.slice))]
    return _node(cst.Subscript, value=value, lbracket=bracket, slice=tuple(elements))


def _index(t: Tree, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return t.make(node)
    if isinstance(node, ast.Starred):
        return _node(cst.Index, value=t.make(node.value), star="*")
    return _node(cst.Index, value=t.make(node))


def _slice(t: Tree, node: ast.Slice) -> Any:
    return _node(cst.Slice, lower=t.maybe(node.lower), upper=t.maybe(node.upper), step=t.maybe(node.step))


def _comprehension(t: Tree, node: Any) -> Any:
    inner = None
    for part in reversed(node.generators):
        tests = tuple(_node(cst.CompIf, test=t.make(test)) for test in part.ifs)
        source = t.make(part.iter)
        inner = _node(cst.CompFor, target=t.make(part.target), iter=source, ifs=tests, inner_for_in=inner)
    if isinstance(node, ast.DictComp):
        return _node(cst.DictComp, key=t.make(node.key), value=t.make(node.value), for_in=inner)
    return _node(getattr(cst, _COMPREHENSIONS[type(node)]), elt=t.make(node.elt), for_in=inner)


_COMPREHENSIONS = {ast.ListComp: "ListComp", ast.SetComp: "SetComp", ast.GeneratorExp: "GeneratorExp"}


def _lambda(t: Tree, node: ast.Lambda) -> Any:
    return _node(cst.Lambda, params=_parameters(t, node.args), body=t.make(node.body))


def _parameters(t: Tree, node: ast.arguments) -> Any:
    plain = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(plain) - len(node.defaults)) + list(node.defaults)
    made = [_parameter(t, arg, default) for arg, default in zip(plain, defaults, strict=True)]
    split = len(node.posonlyargs)
    given: dict[str, Any] = {"posonly_params": tuple(made[:split]), "params": tuple(made[split:])}
    pairs = zip(node.kwonlyargs, node.kw_defaults, strict=True)
    given["kwonly_params"] = tuple(_parameter(t, arg, default) for arg, default in pairs)
    if node.vararg is not None:
        given["star_arg"] = _parameter(t, node.vararg, None)
    elif node.kwonlyargs:
        given["star_arg"] = _node(cst.ParamStar)
    if node.kwarg is not None:
        given["star_kwarg"] = _parameter(t, node.kwarg, None)
    return _node(cst.Parameters, **given)


def _parameter(t: Tree, node: ast.arg, default: ast.expr | None) -> Any:
    annotation = _annotation(t, node.annotation)
    return _node(cst.Param, name=_word(node.arg), annotation=annotation, default=t.maybe(default))


def _annotation(t: Tree, node: ast.expr | None) -> Any:
    return None if node is None else _node(cst.Annotation, annotation=t.make(node))


def _yield_from(t: Tree, node: ast.YieldFrom) -> Any:
    return _node(cst.Yield, value=_node(cst.From, item=t.make(node.value)))


# -- statements


def _simple(make: Callable[[Tree, Any], Any]) -> Callable[[Tree, Any], Any]:
    """Makes the line around a simple statement."""

    def line(t: Tree, node: Any) -> Any:
        made = make(t, node)
        t._origins[made] = node
        return _node(cst.SimpleStatementLine, body=(made,))

    return line


def _assign(t: Tree, node: ast.Assign) -> Any:
    targets = tuple(_node(cst.AssignTarget, target=target) for target in t.all(node.targets))
    return _node(cst.Assign, targets=targets, value=t.make(node.value))


def _annotated(t: Tree, node: ast.AnnAssign) -> Any:
    target, annotation = t.make(node.target), _annotation(t, node.annotation)
    return _node(cst.AnnAssign, target=target, annotation=annotation, value=t.maybe(node.value))


def _augmented(t: Tree, node: ast.AugAssign) -> Any:
    target, operator = t.make(node.target), t.token(_AUGMENTED[type(node.op)], node.target)
    return _node(cst.AugAssign, target=target, operator=operator, value=t.make(node.value))


def _raise(t: Tree, node: ast.Raise) -> Any:
    cause = None if node.cause is None else _node(cst.From, item=t.make(node.cause))
    return _node(cst.Raise, exc=t.maybe(node.exc), cause=cause)


def _delete(t: Tree, node: ast.Delete) -> Any:
    return _node(cst.Del, target=_node(cst.Tuple, elements=_elements(t, node.targets)))


def _import(t: Tree, node: ast.Import) -> Any:
    return _node(cst.Import, names=tuple(_alias(alias) for alias in node.names))


def _import_from(t: Tree, node: ast.ImportFrom) -> Any:
    star = node.names[0].name == "*"
    names = _node(cst.ImportStar) if star else tuple(_alias(alias) for alias in node.names)
    relative = tuple(_node(cst.Dot) for _ in range(node.level))
    return _node(cst.ImportFrom, module=_dotted(node.module) if node.module else None, names=names, relative=relative)


def _alias(node: ast.alias) -> Any:
    asname = None if node.asname is None else _node(cst.AsName, name=_word(node.asname))
    return _node(cst.ImportAlias, name=_dotted(node.name), asname=asname)


def _dotted(name: str) -> Any:
    first, *others = name.split(".")
    made: Any = _word(first)
    for other in others:
        made = _node(cst.Attribute, value=made, attr=_word(other))
    return made


def _outer(kind: type[Any]) -> Callable[[Tree, Any], Any]:
    return lambda t, node: _node(kind, names=tuple(_node(cst.NameItem, name=_word(name)) for name in node.names))


def _else(t: Tree, body: list[ast.stmt]) -> Any:
    return _node(cst.Else, body=t.block(body)) if body else None


def _if(t: Tree, node: ast.If) -> Any:
    elif_ = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
    orelse = t.make(node.orelse[0]) if elif_ else _else(t, node.orelse)
    return _node(cst.If, test=t.make(node.test), body=t.block(node.body), orelse=orelse)


def _for(t: Tree, node: ast.For | ast.AsyncFor) -> Any:
    target, source = t.make(node.target), t.make(node.iter)
    return _node(cst.For, target=target, iter=source, body=t.block(node.body), orelse=_else(t, node.orelse))


def _while(t: Tree, node: ast.While) -> Any:
    return _node(cst.While, test=t.make(node.test), body=t.block(node.body), orelse=_else(t, node.orelse))


def _try(t: Tree, node: Any) -> Any:
    starred = not isinstance(node, ast.Try)
    handlers = []
    for handler in node.handlers:
        name = None if handler.name is None else _node(cst.AsName, name=_word(handler.name))
        fields = {"type": t.maybe(handler.type), "name": name, "body": t.block(handler.body)}
        handlers.append(_node(cst.ExceptStarHandler if starred else cst.ExceptHandler, **fields))
    return _node(
        cst.TryStar if starred else cst.Try,
        body=t.block(node.body),
        handlers=tuple(handlers),
        orelse=_else(t, node.orelse),
        finalbody=_node(cst.Finally, body=t.block(node.finalbody)) if node.finalbody else None,
    )


def _with(t: Tree, node: ast.With | ast.AsyncWith) -> Any:
    items = []
    for item in node.items:
        target = None if item.optional_vars is None else _node(cst.AsName, name=t.make(item.optional_vars))
        items.append(_node(cst.WithItem, item=t.make(item.context_expr), asname=target))
    return _node(cst.With, items=tuple(items), body=t.block(node.body))


def _function(t: Tree, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    decorators, params = _decorators(t, node.decorator_list), _parameters(t, node.args)
    returns = _annotation(t, node.returns)
    return t.function(node, name=_word(node.name), params=params, decorators=decorators, returns=returns)


def _class(t: Tree, node: ast.ClassDef) -> Any:
    return _node(
        cst.ClassDef,
        name=_word(node.name),
        bases=tuple(_arguments(t, node.bases)),
        keywords=tuple(_keywords(t, node.keywords)),
        decorators=_decorators(t, node.decorator_list),
        body=t.block(node.body),
    )


def _decorators(t: Tree, nodes: list[ast.expr]) -> tuple[Any, ...]:
    made = []
    for node in nodes:
        made.append(_node(cst.Decorator, decorator=t.make(node)))
        t._origins[made[-1]] = node
    return tuple(made)


# -- match


def _match(t: Tree, node: ast.Match) -> Any:
    cases = []
    for case in node.cases:
        pattern, guard = t.make(case.pattern), t.maybe(case.guard)
        cases.append(_node(cst.MatchCase, pattern=pattern, guard=guard, body=t.block(case.body)))
    return _node(cst.Match, subject=t.make(node.subject), cases=tuple(cases))


def _patterns(t: Tree, nodes: list[ast.pattern]) -> tuple[Any, ...]:
    made = [(node, t.make(node)) for node in nodes]
    star = ast.MatchStar
    return tuple(one if isinstance(node, star) else _node(cst.MatchSequenceElement, value=one) for node, one in made)


def _sequence(t: Tree, node: ast.MatchSequence) -> Any:
    brackets = {"lbracket": _node(cst.LeftSquareBracket), "rbracket": _node(cst.RightSquareBracket)}
    return _node(cst.MatchList, patterns=_patterns(t, node.patterns), **brackets)


def _mapping(t: Tree, node: ast.MatchMapping) -> Any:
    pairs = zip(node.keys, node.patterns, strict=True)
    elements = tuple(_node(cst.MatchMappingElement, key=t.make(key), pattern=t.make(value)) for key, value in pairs)
    return _node(cst.MatchMapping, elements=elements, rest=_maybe_name(node.rest))


def _match_class(t: Tree, node: ast.MatchClass) -> Any:
    pairs = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    keywords = tuple(_node(cst.MatchKeywordElement, key=_word(key), pattern=t.make(value)) for key, value in pairs)
    return _node(cst.MatchClass, cls=t.make(node.cls), patterns=_patterns(t, node.patterns), kwds=keywords)


def _match_or(t: Tree, node: ast.MatchOr) -> Any:
    return _node(cst.MatchOr, patterns=tuple(_node(cst.MatchOrElement, pattern=one) for one in t.all(node.patterns)))


def _maybe_name(name: str | None) -> Any:
    return None if name is None else _word(name)


_MAKERS: dict[type, Callable[[Tree, Any], Any]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.JoinedStr: _string,
    ast.FormattedValue: _formatted,
    ast.Tuple: lambda t, node: _node(cst.Tuple, elements=_elements(t, node.elts)),
    ast.List: lambda t, node: _node(cst.List, elements=_elements(t, node.elts)),
    ast.Set: lambda t, node: _node(cst.Set, elements=_elements(t, node.elts)),
    ast.Starred: lambda t, node: _node(cst.StarredElement, value=t.make(node.value)),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.IfExp: lambda t, n: _node(cst.IfExp, test=t.make(n.test), body=t.make(n.body), orelse=t.make(n.orelse)),
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: lambda t, node: _node(cst.NamedExpr, target=t.make(node.target), value=t.make(node.value)),
    ast.Await: lambda t, node: _node(cst.Await, expression=t.make(node.value)),
    ast.Yield: lambda t, node: _node(cst.Yield, value=t.maybe(node.value)),
    ast.YieldFrom: _yield_from,
    ast.Expr: _simple(lambda t, node: _node(cst.Expr, value=t.make(node.value))),
    ast.Assign: _simple(_assign),
    ast.AnnAssign: _simple(_annotated),
    ast.AugAssign: _simple(_augmented),
    ast.Return: _simple(lambda t, node: _node(cst.Return, value=t.maybe(node.value))),
    ast.Raise: _simple(_raise),
    ast.Assert: _simple(lambda t, node: _node(cst.Assert, test=t.make(node.test), msg=t.maybe(node.msg))),
    ast.Delete: _simple(_delete),
    ast.Pass: _simple(lambda t, node: _node(cst.Pass)),
    ast.Break: _simple(lambda t, node: _node(cst.Break)),
    ast.Continue: _simple(lambda t, node: _node(cst.Continue)),
    ast.Import: _simple(_import),
    ast.ImportFrom: _simple(_import_from),
    ast.Global: _simple(_outer(cst.Global)),
    ast.Nonlocal: _simple(_outer(cst.Nonlocal)),
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Match: _match,
    ast.MatchValue: lambda t, node: _node(cst.MatchValue, value=t.make(node.value)),
    ast.MatchSingleton: lambda t, node: _node(cst.MatchSingleton, value=_word(str(node.value))),
    ast.MatchSequence: _sequence,
    ast.MatchMapping: _mapping,
    ast.MatchClass: _match_class,
    ast.MatchStar: lambda t, node: _node(cst.MatchStar, name=_maybe_name(node.name)),
    ast.MatchAs: lambda t, node: _node(cst.MatchAs, pattern=t.maybe(node.pattern), name=_maybe_name(node.name)),
    ast.MatchOr: _match_or,
}
if hasattr(ast, "TryStar"):
    _MAKERS[ast.TryStar] = _try
if hasattr(ast, "TypeAlias"):
    _MAKERS[ast.TypeAlias] = _simple(lambda t, node: _node(cst.Pass))
for _later in ("TemplateStr", "Interpolation"):
    if hasattr(ast, _later):
        _MAKERS[getattr(ast, _later)] = _string if _later == "TemplateStr" else _formatted
