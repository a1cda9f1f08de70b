"""One function for each kind of ``ast`` node: it makes libcst's node of it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import libcst as cst

from .nodes import Builder, build, word

_Maker = Callable[[Builder, Any], cst.CSTNode]
_BINARY: dict[type, type[cst.BaseBinaryOp]] = {
    ast.Add: cst.Add, ast.Sub: cst.Subtract, ast.Mult: cst.Multiply, ast.Div: cst.Divide,
    ast.FloorDiv: cst.FloorDivide, ast.Mod: cst.Modulo, ast.Pow: cst.Power, ast.MatMult: cst.MatrixMultiply,
    ast.BitAnd: cst.BitAnd, ast.BitOr: cst.BitOr, ast.BitXor: cst.BitXor, ast.LShift: cst.LeftShift,
    ast.RShift: cst.RightShift,
}  # fmt: skip
_AUGMENTED: dict[type, type[cst.BaseAugOp]] = {k: getattr(cst, f"{v.__name__}Assign") for k, v in _BINARY.items()}
_UNARY: dict[type, type[cst.BaseUnaryOp]] = {
    ast.USub: cst.Minus, ast.UAdd: cst.Plus, ast.Invert: cst.BitInvert, ast.Not: cst.Not,
}  # fmt: skip
_COMPARISON: dict[type, type[cst.BaseCompOp]] = {
    ast.Eq: cst.Equal, ast.NotEq: cst.NotEqual, ast.Lt: cst.LessThan, ast.LtE: cst.LessThanEqual,
    ast.Gt: cst.GreaterThan, ast.GtE: cst.GreaterThanEqual, ast.Is: cst.Is, ast.IsNot: cst.IsNot, ast.In: cst.In,
    ast.NotIn: cst.NotIn,
}  # fmt: skip


def _name(t: Builder, node: ast.Name) -> cst.Name:
    return word(node.id)


def _attribute(t: Builder, node: ast.Attribute) -> cst.Attribute:
    name = word(node.attr)
    t.origins[name] = node
    return build(cst.Attribute, value=t.make(node.value), attr=name)


def _constant(t: Builder, node: ast.Constant) -> cst.BaseExpression:
    value = node.value
    if value is None or isinstance(value, bool):
        return word(str(value))
    if isinstance(value, (str, bytes)):
        return build(cst.SimpleString, value=repr(value))
    if isinstance(value, int):
        text = str(value) if value.bit_length() < 4000 else hex(value)  # str() refuses thousands of digits
        return build(cst.Integer, value=text)
    if value is ...:
        return build(cst.Ellipsis)
    text = repr(value).replace("inf", "1e999")
    return build(cst.Imaginary, value=text) if isinstance(value, complex) else build(cst.Float, value=text)


def _string(t: Builder, node: Any) -> cst.FormattedString:
    return build(cst.FormattedString, parts=tuple(_part(t, value) for value in node.values))


def _part(t: Builder, node: ast.expr) -> Any:
    return build(cst.FormattedStringText, value=str(node.value)) if isinstance(node, ast.Constant) else t.make(node)


def _formatted(t: Builder, node: Any) -> cst.FormattedStringExpression:
    conversion = None if node.conversion < 0 else chr(node.conversion)
    spec = None if node.format_spec is None else t.make(node.format_spec).parts
    return build(cst.FormattedStringExpression, expression=t.make(node.value), conversion=conversion, format_spec=spec)


def _elements(t: Builder, nodes: list[ast.expr]) -> tuple[Any, ...]:
    return tuple(
        t.make(node) if isinstance(node, ast.Starred) else build(cst.Element, value=t.make(node)) for node in nodes
    )


def _dict(t: Builder, node: ast.Dict) -> cst.Dict:
    elements = [
        build(cst.StarredDictElement, value=t.make(value))
        if key is None
        else build(cst.DictElement, key=t.make(key), value=t.make(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return build(cst.Dict, elements=tuple(elements))


def _binary(t: Builder, node: ast.BinOp) -> cst.BinaryOperation:
    left, operator = t.make(node.left), t.token(_BINARY[type(node.op)], node.left)
    return build(cst.BinaryOperation, left=left, operator=operator, right=t.make(node.right))


def _unary(t: Builder, node: ast.UnaryOp) -> cst.UnaryOperation:
    return build(cst.UnaryOperation, operator=build(_UNARY[type(node.op)]), expression=t.make(node.operand))


def _boolean(t: Builder, node: ast.BoolOp) -> Any:
    kind = cst.And if isinstance(node.op, ast.And) else cst.Or
    left, *others = t.all(node.values)
    for right in others:
        left = build(cst.BooleanOperation, left=left, operator=build(kind), right=right)
        t.origins[left] = node
    return left


def _comparison(t: Builder, node: ast.Compare) -> cst.Comparison:
    left, before, targets = t.make(node.left), node.left, []
    for op, right in zip(node.ops, node.comparators, strict=True):
        operator = t.token(_COMPARISON[type(op)], before)
        targets.append(build(cst.ComparisonTarget, operator=operator, comparator=t.make(right)))
        before = right
    return build(cst.Comparison, left=left, comparisons=tuple(targets))


def _call(t: Builder, node: ast.Call) -> cst.Call:
    return build(cst.Call, func=t.make(node.func), args=(*_arguments(t, node.args), *_keywords(t, node.keywords)))


def _arguments(t: Builder, nodes: list[ast.expr]) -> list[cst.Arg]:
    return [
        build(cst.Arg, value=t.make(node.value), star="*")
        if isinstance(node, ast.Starred)
        else build(cst.Arg, value=t.make(node))
        for node in nodes
    ]


def _keywords(t: Builder, nodes: list[ast.keyword]) -> list[cst.Arg]:
    return [
        build(cst.Arg, value=t.make(node.value), star="**")
        if node.arg is None
        else build(cst.Arg, value=t.make(node.value), keyword=word(node.arg))
        for node in nodes
    ]


def _subscript(t: Builder, node: ast.Subscript) -> cst.Subscript:
    value, bracket = t.make(node.value), t.token(cst.LeftSquareBracket, node.value)
    if isinstance(node.slice, ast.Tuple) and node.slice.elts:
        elements = [build(cst.SubscriptElement, slice=_index(t, part)) for part in node.slice.elts]
        if len(elements) == 1:  # x[a,]
            elements = [elements[0].with_changes(comma=build(cst.Comma))]
    else:
        elements = [build(cst.SubscriptElement, slice=_index(t, node.slice))]
    return build(cst.Subscript, value=value, lbracket=bracket, slice=tuple(elements))


def _index(t: Builder, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return t.make(node)
    if isinstance(node, ast.Starred):
        return build(cst.Index, value=t.make(node.value), star="*")
    return build(cst.Index, value=t.make(node))


def _slice(t: Builder, node: ast.Slice) -> cst.Slice:
    return build(cst.Slice, lower=t.maybe(node.lower), upper=t.maybe(node.upper), step=t.maybe(node.step))


def _comprehension(t: Builder, node: Any) -> cst.BaseComp:
    inner = None
    for part in reversed(node.generators):
        tests = tuple(build(cst.CompIf, test=t.make(test)) for test in part.ifs)
        source = t.make(part.iter)
        inner = build(cst.CompFor, target=t.make(part.target), iter=source, ifs=tests, inner_for_in=inner)
    if isinstance(node, ast.DictComp):
        return build(cst.DictComp, key=t.make(node.key), value=t.make(node.value), for_in=inner)
    return build(_COMPREHENSIONS[type(node)], elt=t.make(node.elt), for_in=inner)


_COMPREHENSIONS: dict[type, type[cst.BaseSimpleComp]] = {
    ast.ListComp: cst.ListComp, ast.SetComp: cst.SetComp, ast.GeneratorExp: cst.GeneratorExp,
}  # fmt: skip


def _lambda(t: Builder, node: ast.Lambda) -> cst.Lambda:
    return build(cst.Lambda, params=_parameters(t, node.args), body=t.make(node.body))


def _parameters(t: Builder, node: ast.arguments) -> cst.Parameters:
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
        given["star_arg"] = build(cst.ParamStar)
    if node.kwarg is not None:
        given["star_kwarg"] = _parameter(t, node.kwarg, None)
    return build(cst.Parameters, **given)


def _parameter(t: Builder, node: ast.arg, default: ast.expr | None) -> cst.Param:
    annotation = _annotation(t, node.annotation)
    return build(cst.Param, name=word(node.arg), annotation=annotation, default=t.maybe(default))


def _annotation(t: Builder, node: ast.expr | None) -> cst.Annotation | None:
    return None if node is None else build(cst.Annotation, annotation=t.make(node))


def _yield_from(t: Builder, node: ast.YieldFrom) -> cst.Yield:
    return build(cst.Yield, value=build(cst.From, item=t.make(node.value)))


def _simple(make: _Maker) -> _Maker:
    """Makes the line around a simple statement."""

    def line(t: Builder, node: Any) -> cst.SimpleStatementLine:
        made = make(t, node)
        t.origins[made] = node
        return build(cst.SimpleStatementLine, body=(made,))

    return line


def _assign(t: Builder, node: ast.Assign) -> cst.Assign:
    targets = tuple(build(cst.AssignTarget, target=target) for target in t.all(node.targets))
    return build(cst.Assign, targets=targets, value=t.make(node.value))


def _annotated(t: Builder, node: ast.AnnAssign) -> cst.AnnAssign:
    target, annotation = t.make(node.target), _annotation(t, node.annotation)
    return build(cst.AnnAssign, target=target, annotation=annotation, value=t.maybe(node.value))


def _augmented(t: Builder, node: ast.AugAssign) -> cst.AugAssign:
    target, operator = t.make(node.target), t.token(_AUGMENTED[type(node.op)], node.target)
    return build(cst.AugAssign, target=target, operator=operator, value=t.make(node.value))


def _raise(t: Builder, node: ast.Raise) -> cst.Raise:
    cause = None if node.cause is None else build(cst.From, item=t.make(node.cause))
    return build(cst.Raise, exc=t.maybe(node.exc), cause=cause)


def _delete(t: Builder, node: ast.Delete) -> cst.Del:
    return build(cst.Del, target=build(cst.Tuple, elements=_elements(t, node.targets)))


def _import(t: Builder, node: ast.Import) -> cst.Import:
    return build(cst.Import, names=tuple(_alias(alias) for alias in node.names))


def _import_from(t: Builder, node: ast.ImportFrom) -> cst.ImportFrom:
    star = node.names[0].name == "*"
    names = build(cst.ImportStar) if star else tuple(_alias(alias) for alias in node.names)
    relative = tuple(build(cst.Dot) for _ in range(node.level))
    module = _dotted(node.module) if node.module else None
    return build(cst.ImportFrom, module=module, names=names, relative=relative)


def _alias(node: ast.alias) -> cst.ImportAlias:
    asname = None if node.asname is None else build(cst.AsName, name=word(node.asname))
    return build(cst.ImportAlias, name=_dotted(node.name), asname=asname)


def _dotted(name: str) -> cst.Name | cst.Attribute:
    first, *others = name.split(".")
    made: cst.Name | cst.Attribute = word(first)
    for other in others:
        made = build(cst.Attribute, value=made, attr=word(other))
    return made


def _outer(kind: type[cst.Global | cst.Nonlocal]) -> _Maker:
    return lambda t, node: build(kind, names=tuple(build(cst.NameItem, name=word(name)) for name in node.names))


def _else(t: Builder, body: list[ast.stmt]) -> cst.Else | None:
    return build(cst.Else, body=t.block(body)) if body else None


def _if(t: Builder, node: ast.If) -> cst.If:
    elif_ = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
    orelse = t.make(node.orelse[0]) if elif_ else _else(t, node.orelse)
    return build(cst.If, test=t.make(node.test), body=t.block(node.body), orelse=orelse)


def _for(t: Builder, node: ast.For | ast.AsyncFor) -> cst.For:
    target, source = t.make(node.target), t.make(node.iter)
    return build(cst.For, target=target, iter=source, body=t.block(node.body), orelse=_else(t, node.orelse))


def _while(t: Builder, node: ast.While) -> cst.While:
    return build(cst.While, test=t.make(node.test), body=t.block(node.body), orelse=_else(t, node.orelse))


def _try(t: Builder, node: Any) -> cst.BaseCompoundStatement:
    starred = not isinstance(node, ast.Try)
    handlers = []
    for handler in node.handlers:
        name = None if handler.name is None else build(cst.AsName, name=word(handler.name))
        fields = {"type": t.maybe(handler.type), "name": name, "body": t.block(handler.body)}
        handlers.append(build(cst.ExceptStarHandler if starred else cst.ExceptHandler, **fields))
    return build(
        cst.TryStar if starred else cst.Try,
        body=t.block(node.body),
        handlers=tuple(handlers),
        orelse=_else(t, node.orelse),
        finalbody=build(cst.Finally, body=t.block(node.finalbody)) if node.finalbody else None,
    )


def _with(t: Builder, node: ast.With | ast.AsyncWith) -> cst.With:
    items = []
    for item in node.items:
        target = None if item.optional_vars is None else build(cst.AsName, name=t.make(item.optional_vars))
        items.append(build(cst.WithItem, item=t.make(item.context_expr), asname=target))
    return build(cst.With, items=tuple(items), body=t.block(node.body))


def _function(t: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> cst.FunctionDef:
    decorators, params = _decorators(t, node.decorator_list), _parameters(t, node.args)
    returns = _annotation(t, node.returns)
    return t.function(node, name=word(node.name), params=params, decorators=decorators, returns=returns)


def _class(t: Builder, node: ast.ClassDef) -> cst.ClassDef:
    return build(
        cst.ClassDef,
        name=word(node.name),
        bases=tuple(_arguments(t, node.bases)),
        keywords=tuple(_keywords(t, node.keywords)),
        decorators=_decorators(t, node.decorator_list),
        body=t.block(node.body),
    )


def _decorators(t: Builder, nodes: list[ast.expr]) -> tuple[cst.Decorator, ...]:
    made = []
    for node in nodes:
        made.append(build(cst.Decorator, decorator=t.make(node)))
        t.origins[made[-1]] = node
    return tuple(made)


def _match(t: Builder, node: ast.Match) -> cst.Match:
    cases = []
    for case in node.cases:
        pattern, guard = t.make(case.pattern), t.maybe(case.guard)
        cases.append(build(cst.MatchCase, pattern=pattern, guard=guard, body=t.block(case.body)))
    return build(cst.Match, subject=t.make(node.subject), cases=tuple(cases))


def _patterns(t: Builder, nodes: list[ast.pattern]) -> tuple[Any, ...]:
    made = [(node, t.make(node)) for node in nodes]
    return tuple(
        one if isinstance(node, ast.MatchStar) else build(cst.MatchSequenceElement, value=one) for node, one in made
    )


def _sequence(t: Builder, node: ast.MatchSequence) -> cst.MatchList:
    brackets = {"lbracket": build(cst.LeftSquareBracket), "rbracket": build(cst.RightSquareBracket)}
    return build(cst.MatchList, patterns=_patterns(t, node.patterns), **brackets)


def _mapping(t: Builder, node: ast.MatchMapping) -> cst.MatchMapping:
    pairs = zip(node.keys, node.patterns, strict=True)
    elements = tuple(build(cst.MatchMappingElement, key=t.make(key), pattern=t.make(value)) for key, value in pairs)
    return build(cst.MatchMapping, elements=elements, rest=_maybe_name(node.rest))


def _match_class(t: Builder, node: ast.MatchClass) -> cst.MatchClass:
    pairs = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    keywords = tuple(build(cst.MatchKeywordElement, key=word(key), pattern=t.make(value)) for key, value in pairs)
    return build(cst.MatchClass, cls=t.make(node.cls), patterns=_patterns(t, node.patterns), kwds=keywords)


def _match_or(t: Builder, node: ast.MatchOr) -> cst.MatchOr:
    patterns = [build(cst.MatchOrElement, pattern=one) for one in t.all(node.patterns)]
    return build(cst.MatchOr, patterns=tuple(patterns))


def _maybe_name(name: str | None) -> cst.Name | None:
    return None if name is None else word(name)


MAKERS: dict[type, _Maker] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.JoinedStr: _string,
    ast.FormattedValue: _formatted,
    ast.Tuple: lambda t, node: build(cst.Tuple, elements=_elements(t, node.elts)),
    ast.List: lambda t, node: build(cst.List, elements=_elements(t, node.elts)),
    ast.Set: lambda t, node: build(cst.Set, elements=_elements(t, node.elts)),
    ast.Starred: lambda t, node: build(cst.StarredElement, value=t.make(node.value)),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.IfExp: lambda t, n: build(cst.IfExp, test=t.make(n.test), body=t.make(n.body), orelse=t.make(n.orelse)),
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: lambda t, node: build(cst.NamedExpr, target=t.make(node.target), value=t.make(node.value)),
    ast.Await: lambda t, node: build(cst.Await, expression=t.make(node.value)),
    ast.Yield: lambda t, node: build(cst.Yield, value=t.maybe(node.value)),
    ast.YieldFrom: _yield_from,
    ast.Expr: _simple(lambda t, node: build(cst.Expr, value=t.make(node.value))),
    ast.Assign: _simple(_assign),
    ast.AnnAssign: _simple(_annotated),
    ast.AugAssign: _simple(_augmented),
    ast.Return: _simple(lambda t, node: build(cst.Return, value=t.maybe(node.value))),
    ast.Raise: _simple(_raise),
    ast.Assert: _simple(lambda t, node: build(cst.Assert, test=t.make(node.test), msg=t.maybe(node.msg))),
    ast.Delete: _simple(_delete),
    ast.Pass: _simple(lambda t, node: build(cst.Pass)),
    ast.Break: _simple(lambda t, node: build(cst.Break)),
    ast.Continue: _simple(lambda t, node: build(cst.Continue)),
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
    ast.MatchValue: lambda t, node: build(cst.MatchValue, value=t.make(node.value)),
    ast.MatchSingleton: lambda t, node: build(cst.MatchSingleton, value=word(str(node.value))),
    ast.MatchSequence: _sequence,
    ast.MatchMapping: _mapping,
    ast.MatchClass: _match_class,
    ast.MatchStar: lambda t, node: build(cst.MatchStar, name=_maybe_name(node.name)),
    ast.MatchAs: lambda t, node: build(cst.MatchAs, pattern=t.maybe(node.pattern), name=_maybe_name(node.name)),
    ast.MatchOr: _match_or,
}
if hasattr(ast, "TryStar"):
    MAKERS[ast.TryStar] = _try
if hasattr(ast, "TypeAlias"):
    MAKERS[ast.TypeAlias] = _simple(lambda t, node: build(cst.Pass))
for _later in ("TemplateStr", "Interpolation"):
    if hasattr(ast, _later):
        MAKERS[getattr(ast, _later)] = _string if _later == "TemplateStr" else _formatted
