"""The tree that is made of flake8's is the one that libcst parses, less what says nothing; and it keeps its places."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from flake8_inplace.program import makers
from flake8_inplace.program.nodes import parts
from flake8_inplace.program.tree import Tree, expression

ROOT = Path(__file__).parents[1]
FOLDERS = ("tests/cases", "tests", "flake8_inplace", "flake8_inplace/*")
SOURCES = [path for folder in FOLDERS for path in sorted(ROOT.glob(f"{folder}/*.py")) if path.name != "__init__.py"]

SYNTAX = """\
from . import a, b as c
from ..d.e import *
from .f import (g)
import h.i as j, k.l
async def m(n, /, o: int, p: "q" = 1, *r: s, t, u=2, **v) -> w:
    async with x as y, z(): pass
    async for aa in bb: await cc
    else: yield
    return [dd async for dd in ee]
def ff(*, gg): global hh; nonlocal_ = 1
def ii(*jj):
    def kk():
        nonlocal jj
        del jj, (ll), mm[0]
    yield from nn
    raise oo from pp
class qq(rr, ss.tt, metaclass=uu):
    '''a docstring'''
    vv: ww
    xx: yy = 1
    @zz
    @ab.ac(1)
    def ad(self): ...
if (ae := af) and ag or not ah: pass
elif ai is not aj not in ak < al <= am != an is ao in ap > aq >= ar == as_: break
elif at: continue
else:
    if au: assert av, aw
while 1: pass
else: ax = ay = az, *ba = [bb, *bc], {bd}, {be: bf, **bg}, (), (bh,)
try: bi
except (bj, bk) as bl: raise
except: ...
else: bm
finally: bn
for bo, (bp, *bq) in br: bo += bp; bo @= -bp; bo //= ~bq; bo **= +bp; bo >>= 1; bo <<= 1; bo %= 2; bo |= 1; bo ^= 1
bs[1], bs[1:2], bs[::3, ...], bs[bt,], bs[(bt, bu)], bs[()], bs[bv := 1], (bs)[-1], bs [ 0 ]
bw(1, *bx, by=2, **bz), bw(ca for ca in cb if cc if cd for ce in cf), bw(*a, b, *c)
{cg: ch for cg, ch in ci}, {cj for cj in ck}, lambda: 0, lambda cl, *cm, cn=1, **co: cl
cp if cq else cr, f"{cs!r:>{ct}} {cu=} {{}} {cv:%d}", 'cw' "cx", b"cy", rb'\\d', '''cz
da''', 0x1F, 1_000, 1e400, 2.5e-8, 3j, 1e400j, True, None, ..., "\\ud800", "\\n"
db + (dc - dd) * de / df // dg % dh ** di @ dj & dk | dl ^ dm << dn >> do
(dp  # a comment + 1
 ) + dq; (
    dr
    .ds  # and one
    .dt
    [0]) += 1
dt = \\
    du . dv (1) \\
    . dw
if 1: pass
elif 2: pass
match dx:
    case [1, dy, *dz] | (2, [*_]) | {3: ea, **eb} | {} | []: pass
    case ec.ed(1, ee, ef=eg) if eh: pass
    case None | True | "ei" | -1 | 2 + 3j: pass
    case ej as ek: pass
    case el.em | (_ as en): pass
    case _: pass
"""
LATER = {
    (3, 11): "try: a\nexcept* b as c: d\nx[*y]\nx[1, *y] = 2\n",
    (3, 12): "type A = int\ntype B[T] = list[T]\ndef f[T](x: T): pass\nclass C[T]: pass\nx = f'{a['b']}'\n",
}


#: What may stand where the text has more than it needs.
SILENT = (cst.EmptyLine, cst.BaseParenthesizableWhitespace, cst.Asynchronous, cst.ParamSlash, cst.Colon)


def whole(source: str) -> tuple[Tree, cst.IndentedBlock]:
    made = Tree(source.split("\n"))
    return made, made.block(ast.parse(source).body)


def skeleton(node: Any) -> Any:
    """What a tree says, of whichever parser: strings and numbers by their values."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString, cst.Integer, cst.Float, cst.Imaginary)):
        try:
            return ("literal", repr(ast.literal_eval(f"({code(node)})")))
        except ValueError:  # an f-string among others
            return ("f-string", list(inserted(node)))
    if isinstance(node, cst.FormattedString):
        return ("f-string", list(inserted(node)))
    if isinstance(node, (cst.IndentedBlock, cst.SimpleStatementSuite)):
        return [skeleton(line) for line in lines(node.body)]
    if isinstance(node, (cst.MatchTuple, cst.MatchList)):
        return ("sequence", [skeleton(one) for one in node.patterns])
    if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Index) and len(node.slice) == 1:
        inside = node.slice[0].slice.value
        if isinstance(inside, cst.Tuple) and inside.elements:  # x[(a, b)] is x[a, b]
            return ("Subscript", skeleton(node.value), [skeleton(element.value) for element in inside.elements])
    if isinstance(node, cst.Subscript):
        indices = [one.slice.value if isinstance(one.slice, cst.Index) else one.slice for one in node.slice]
        return ("Subscript", skeleton(node.value), [skeleton(index) for index in indices])
    if isinstance(node, cst.Del):
        target = node.target
        return (
            "Del",
            [skeleton(e.value) for e in target.elements] if isinstance(target, cst.Tuple) else [skeleton(target)],
        )
    if isinstance(node, cst.Call):
        args = sorted(node.args, key=lambda arg: arg.keyword is not None or arg.star == "**")  # stable
        return ("Call", skeleton(node.func), [skeleton(arg) for arg in args])
    if isinstance(node, cst.If) and isinstance(node.orelse, cst.Else):
        below = list(lines(node.orelse.body.body))
        if len(below) == 1 and isinstance(below[0], cst.If):  # as if it were spelled elif
            return skeleton(node.with_changes(orelse=below[0]))
    if isinstance(node, cst.MatchOrElement):
        return skeleton(node.pattern)
    if isinstance(node, cst.Arg):
        return ("Arg", node.star, skeleton(node.keyword), skeleton(node.value))
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.CSTNode):
        inside = [part for part in parts(node) if not isinstance(part, SILENT)]
        return (type(node).__name__, [skeleton(part) for part in inside])
    return node


def inserted(node: cst.CSTNode) -> Iterator[Any]:
    """What stands between braces in a string, at any depth of its parts."""
    for part in node.parts if isinstance(node, cst.FormattedString) else ():
        if isinstance(part, cst.FormattedStringExpression):
            yield skeleton(part.expression)
    if isinstance(node, cst.ConcatenatedString):
        yield from (*inserted(node.left), *inserted(node.right))


def lines(body: Any) -> Iterator[cst.CSTNode]:
    """Statements, each on its own, without docstrings."""
    for line in body:
        for node in line.body if isinstance(line, cst.SimpleStatementLine) else [line]:
            literal = (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis, cst.Integer, cst.Name)
            silent = isinstance(node, cst.Expr) and isinstance(node.value, literal)
            if not silent or (isinstance(node.value, cst.Name) and node.value.value not in ("None", "True", "False")):
                yield node


def code(node: cst.CSTNode) -> str:
    return cst.Module(()).code_for_node(node)


def everything(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from everything(child)


@pytest.mark.parametrize("source", [SYNTAX, *(path.read_text() for path in SOURCES[::4])])
def test_it_is_the_tree_that_libcst_parses(source: str) -> None:
    _, made = whole(source)
    parsed = cst.parse_module(source)
    for one, other in zip(made.body, lines(parsed.body), strict=False):
        one = one.body[0] if isinstance(one, cst.SimpleStatementLine) else one
        assert skeleton(one) == skeleton(other)
    assert len(made.body) == len(list(lines(parsed.body)))
    assert code(made)  # and one that libcst can write


@pytest.mark.parametrize("source", [SYNTAX, *(path.read_text() for path in SOURCES[1::8])])
def test_operators_brackets_and_attributes_keep_their_places(source: str) -> None:
    def tokens(root: cst.CSTNode) -> Iterator[cst.CSTNode]:
        for node in everything(root):
            if isinstance(node, (cst.BinaryOperation, cst.AugAssign, cst.ComparisonTarget)):
                yield node.operator
            elif isinstance(node, cst.Subscript):
                yield node.lbracket
            elif isinstance(node, cst.Attribute) and not isinstance(node.value, cst.Attribute):
                yield node.attr

    made, block = whole(source)
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    expected = {
        (type(node), positions[node].start.line, positions[node].start.column) for node in tokens(wrapper.module)
    }
    inside = {  # of f-strings Python 3.11 does not know the places
        (node.lineno, part.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if isinstance(part, ast.expr)
    }
    strange = {line for pair in inside for line in range(min(pair), max(pair) + 1)}
    found = set()
    for node in tokens(block):
        try:
            place = made.place(node)
        except (KeyError, IndexError):  # of an import; of an f-string
            continue
        found.add((type(node), place.line, place.column))
    assert {one for one in found if one[1] not in strange} <= expected
    assert len(found) > len(expected) // 2 or not expected


@pytest.mark.parametrize("version", LATER, ids=str)
def test_later_syntax(version: tuple[int, int]) -> None:
    if sys.version_info < version:
        pytest.skip("this Python does not know it")
    _, made = whole(LATER[version])
    assert len(made.body) == LATER[version].count("\n") - (version == (3, 11))


def test_unknown_syntax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(makers.MAKERS, ast.Lambda)
    with pytest.raises(SyntaxError, match="Lambda is not known"):
        expression("lambda: 0")


def test_text() -> None:
    made, block = whole("x = ü.f( 1,2 ) + g(\n  1,  # one\n  2)\n")
    binary: Any = block.body[0].body[0]
    assert made.text(binary.value.left) == "ü.f( 1,2 )"
    assert made.text(binary.value.right) == "g(1, 2)"
    assert made.text(binary.value.operator) == "+"
    assert made.place(binary.value.operator).column == 15
