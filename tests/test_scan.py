"""The cheap pass: what it cuts out of a file keeps its place, and only what can overwrite something is read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst import matchers as match

from flake8_inplace.hazards import TRIGGERS
from flake8_inplace.program.nodes import parts
from flake8_inplace.program.pieces import Piece
from flake8_inplace.program.scan import only_imports, scan

CASES = sorted(Path(__file__).parent.joinpath("cases").glob("*.py"))

ODD = """\
import torch
@torch.no_grad()
# a comment
async def one(x, y=[
    1,  # of them
]): return x.add_(1)
class Outer(
    torch.nn.Module):
    '''Says

    # this is no comment
    '''

    # this is one
    size = 1; width = 2
    def tabs(self, x):
    \t'''Says something.'''; x.mul_(self.size); return x

    class Inner:

        @staticmethod
        def f(x, s='''
# no comment either
'''):
            # only a comment

            @torch.compile
            def g(y):
                return y.mul_(2)

            text = f'''
            # neither
            '''
            return g(x), "ü" + text, x.exp_()
    async def last(self): "ü"; return self.size
    def lines(self):
        pass
\\
        self.size = 2
        return self.width
if torch:
    def under(x):
        return x.add_(1)
"""


def texts(source: str) -> Iterator[Piece]:
    """Every piece of a file."""
    file = scan(source, ast.parse(source), TRIGGERS, everything=True)
    for piece in file.pieces if file is not None else ():
        yield from (piece, *piece.functions.values())


def ends(node: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Every name in the expressions of a file, also after a dot, with the line and the byte where it ends.

    There are none from f-strings: Python 3.11 does not know their places.
    """
    if isinstance(node, ast.Name):
        yield node.id, node.end_lineno or 0, node.end_col_offset or 0
    elif isinstance(node, ast.Attribute):
        yield node.attr, node.end_lineno or 0, node.end_col_offset or 0
    elif isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool)):
        yield str(node.value), node.end_lineno or 0, node.end_col_offset or 0
    for child in ast.iter_child_nodes(node) if not isinstance(node, ast.JoinedStr) else ():
        yield from ends(child)


def placed(piece: Piece, node: cst.CSTNode) -> Iterator[tuple[str, int, int]]:
    """The same of what was made of a piece, but for names that are no expression, such as those of parameters."""
    if isinstance(node, cst.Name):
        try:
            place = piece.tree.place(node)
        except KeyError:
            return
        line = piece.lines[place.line - 1]
        yield node.value, place.line, len((line[: place.column] + node.value).encode())
    for child in parts(node) if not isinstance(node, cst.FormattedString) else ():
        yield from placed(piece, child)


@pytest.mark.parametrize("source", [*(path.read_text() for path in CASES[::5]), ODD])
def test_what_is_cut_out_keeps_its_place(source: str) -> None:
    """Every name is made once, and stands where it stood."""
    found = [name for piece in texts(source) for name in placed(piece, piece.read())]
    assert sorted(found) == sorted(ends(ast.parse(source)))


def test_docstrings_make_no_nodes() -> None:
    strings = [node for piece in texts(ODD) for node in match.findall(piece.read(), match.SimpleString())]
    said = [node.evaluated_value for node in strings if isinstance(node, cst.SimpleString)]
    assert sorted(map(str, said)) == ["\n# no comment either\n", "ü"]


PROGRAMS = {
    "what writes, and who calls it": """
def f(x):
    x.add_(1)  # read
def g(x):
    return f(x)  # read
def h(x):
    return x.add(1)
""",
    "functions of torch": """
from torch import relu_
from .layers import norm_
def f(x):
    return relu_(x)  # read
def g(x):
    return norm_(x)
""",
    "what may be a tensor, and what is none": """
def f(x, i):
    x[i] = 1  # read
def f(losses):
    total = 0  # read
    for loss in losses:
        total += loss
def f(items):
    seen, count = {}, 0
    seen[items] = count
def f(items):
    seen = {}
    count = 0
    for item in items:
        seen[item] = item
        count += 1
def f(items, x):
    items.append(x)
    items[0] = x
def f(items, x):
    items.append(x)  # read
    items = torch.stack(items)
    items[0] = x
def f(x, key):
    x["a"] = x[f"{key}.b"] = x[key + ".c"] = 1
def f(x):
    global total  # read
    total += x
""",
    "what the module's variables are": """
SEEN = {}
COUNT = 0
BUFFER = []
KEPT = torch.zeros(3)
def f(name, x):
    SEEN[name] = x
def f(x):
    KEPT[0] = x  # read
def f(x, SEEN):
    SEEN[0] = x  # read
def f():
    global COUNT
    COUNT += 1
class A:
    def a(self, name, x):
        SEEN[name] = x
    def b(self, x):
        BUFFER[0] = x  # read
def f(x):
    global BUFFER
    BUFFER = x
""",
    "what is kept on self": """
class A:
    def __init__(self):
        self.cache = {}
        self.count = 0
        self.state = None
    def a(self, key, x):
        self.cache[key] = x
        self.count += 1
    def b(self, x):
        self.state += x  # read
    def c(self, x):
        self.state = x
""",
    "layers that overwrite, wherever they were made": """
def act():
    return nn.ReLU(inplace=True)  # read
class A(nn.Module):
    def __init__(self):
        self.act = act()  # read
    def forward(self, x):
        return self.act(x)  # read
    def name(self):
        return self.title
class B(nn.Module):
    def __init__(self):
        self.a = nn.ModuleList([A() for _ in range(2)])  # read
    def forward(self, x):
        for layer in self.a:  # read
            x = layer(x)
        return x
class C(A):
    def other(self, x):
        return self.act(x)  # read
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
    def forward(self, x):
        return self.act(x)
""",
    "first values": """
class A(nn.Module):
    def __init__(self):
        self.init()
        self.apply(self.each)
    def init(self):
        nn.init.zeros_(self.weight)
    def each(self, module):
        module.reset_parameters()
    def forward(self, x):
        return self.weight * x
""",
    "first values, in a file that trains": """
def restart(layer):
    nn.init.zeros_(layer.weight)  # read
def train(loss):
    loss.backward()
""",
    "first values, between a computation and its result": """
from torch.nn.init import ones_
def f(layer, x):
    y = layer(x)  # read
    layer.reset_parameters()
    return y
def f(layer, x):
    y = layer(x)  # read
    nn.init.zeros_(layer.weight)
    return y
def f(layer, x):
    y = layer(x)  # read
    ones_(layer.weight)
    return y
def f(layer):
    layer.reset_parameters()
    ones_(layer.weight)
""",
    "parts under another name": """
class A(nn.Module):
    def __init__(self):
        self.net = nn.ModuleDict({"act": nn.ReLU(inplace=True)})  # read
    def forward(self, x):
        net = self  # read
        return net.act(torch.sigmoid(x))
class B(A):
    def forward(self, x):
        for block in self.net.values():  # read
            x = block.act(block.norm(x))
        return x
""",
    "a function that others are given": """
from .layers import named_apply
def init(module, scale=1.0):
    module.weight.mul_(scale)  # read
def register(hook, module):
    module.hook = hook
class A(nn.Module):
    def __init__(self):
        super().__init__()  # read
        named_apply(partial(init, scale=0.1), self)
    def forward(self, x):
        return self.layer(x)
class B(nn.Module):
    def __init__(self):
        super().__init__()  # read
        register(init, self)
    def forward(self, x):
        return self.layer(x)  # read
""",
    "what is asked for, and not called": """
def f(module):
    module.weight.mul_(2)  # read
class A(nn.Module):
    def init(self, module):
        return hasattr(module, "f")
    def other(self, module):
        return getattr(module, "f")  # read
""",
    "tensors just made": """
def f(x):
    return torch.rand(3).floor_() + x.clone().mul_(2) + x.new_empty(3).normal_()
def g(x):
    return torch.rand(3, requires_grad=True).mul_(2)  # read
def h(x):
    return x.clone().exp_().mul_(2)  # read
""",
    "tensors filled before anything else is done with them": """
def f(n, x):
    mask = torch.zeros(n)
    for i in range(n):
        mask[i] = i
        mask[i] += 1
    mask.add_(3)
    return x * mask
def f(n, x):
    mask = torch.zeros(n)  # read
    for i in range(n):
        mask[i] = i
        x = x * mask
    return x
def f(n, x):
    mask = torch.zeros(n)  # read
    mask[0] = mask[1] * x
    return mask
def f(n, x):
    mask = torch.zeros(n)  # read
    y = x * mask
    mask[0] = 1
    return y
def f(n, x):
    mask = torch.zeros(n)  # read
    def g():
        mask[0] = 1
    y = x * mask
    g()
    return y
def f(n, x):
    mask = torch.zeros(n)  # read
    y = mask.fill_(1)
    z = x * y
    mask[0] = 1
    return z
def f(n, x):
    mask = other = torch.zeros(n)  # read
    y = x * other
    mask[0] = 1
    return y
def f(n, x):
    mask = torch.zeros(n)  # read
    y = x * mask
    mask[0], z = 1, 2
    return y
def f(n, x):
    mask = torch.zeros(n)  # read
    mask[0] = 1
    y = x * mask
    z = mask.add_(1)
    return y
def f(n, x):
    y = x.clone()  # read
    y.relu_()
    y.add_(2)
    return y
def f(n, x):
    y = x.clone()  # read
    y *= n
    y += 1
    return y
def f(self, x):
    h = self.new_hidden(x)  # read
    h += 1
    return h
class A:
    def f(self, x):
        self.state = torch.zeros(3)  # read
        y = x * self.state
        self.state += 1
        return y
def f(n, x):
    mask = torch.zeros(n)  # read
    mask.requires_grad_()
    mask[0] = 1
    return mask
def f(n, x):
    while x.sum() > n:  # read
        mask = torch.zeros(n)
        for _ in range(n):
            mask[0] = 1
            x = x * 2
        for _ in range(n):
            x = x * mask
            n -= 1
        x = x + mask
    return x
def f(n, x):
    mask = torch.zeros(n) if n else x  # read
    mask[0] = 1
    return mask
def f(n, x):
    mask = torch.zeros(n, requires_grad=True)  # read
    mask[0] = 1
    return mask
""",
    "what is filled where somebody minds": """
def f(x):
    with torch.inference_mode():  # read
        table = torch.zeros(3)
    table[0] = x
""",
    "numbers that grow": """
class A(nn.Module):
    def __init__(self, stride: int, rate: Optional[float] = None, steps=1):
        self.prefix = 1 if steps else 0
        rows, count = self.sizes.shape
        offset = max(rows, 2) * len(self.parts)
        for index, part in enumerate(self.parts):
            stride *= 2
            steps *= stride
            rate += offset
            index += rows
            self.prefix += count
def f(x, stride=1):
    stride *= 2  # read
class B:
    def __init__(self, scale):
        self.scale = scale
    def f(self, x):
        scale = 2  # read
        y = x * self.scale
        self.scale *= scale
        return y
def f(x):
    total = 0  # read
    other = x.sum()
    total += other
def f(x):
    total = scale = 0  # read
    total += scale
    scale = x
""",
    "what True stands for": """
def f(x, options):
    return x.sum(0, True) * options.get("scale", True)
def g(x):
    return F.relu(x, True)  # read
def h(x):
    return nn.Sequential(nn.Dropout(0.5, True))(x)  # read
""",
    "what None stood for": """
class Base:
    def __init__(self):
        self.state = None
    def decay(self, w):
        y = self.state * w  # read
        self.state *= 0.9
        return y
class Derived(Base):
    def reset(self):
        self.state = torch.zeros(3)
""",
    "what is filled by text is no tensor": """
def f(out, tag, value):
    out[tag.strip("*")] = value  # read
def g(out, tag, value):
    tag = tag.strip("*")
    out.table[tag] = value
def h(x, names):
    for k in names:  # read
        print(k.lower())
    for k in range(3):
        x[k] = x.square()
""",
    "a function that is kept": """
def square_(x):
    return x.mul_(x)  # read
class A(nn.Module):
    def __init__(self):
        self.act = square_  # read
    def forward(self, x):
        return self.act(x)  # read
""",
    "what a constructor takes out of an argument": """
class A:
    def __init__(self, config):
        table = config.table  # read
        table /= 2
def f(config):
    return A(config)  # read
class B:
    def __init__(self, size: int, sizes):
        patch = size  # read
        for _, patch in sizes:
            pass
        patch *= 2
def g(size):
    return B(size, [])
""",
    "custom functions": """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x  # read
def f(x):
    return Same.apply(x)  # read
""",
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_only_what_can_overwrite_something_is_read(source: str) -> None:
    source = f"import torch\nfrom torch import nn\n{source}"
    file = scan(source, ast.parse(source), TRIGGERS)
    pieces = file.pieces if file is not None else ()
    functions = [function for piece in pieces for function in piece.functions.values()]
    marked = {number for number, line in enumerate(source.split("\n"), 1) if line.endswith("# read")}
    assert {function.line for function in functions if function.worth} == marked


def test_a_statement_that_only_names_things_is_not_run_for_its_own_sake() -> None:
    source = (
        "import torch\n__all__ = ['f']\nTABLE = {'f': torch}\n"
        "def f(x):\n    return x.add_(1)\nTABLE = {'f': f}\nresult = f(torch.zeros(3))\n"
    )
    file = scan(source, ast.parse(source), TRIGGERS)
    assert file is not None
    assert [piece.line for piece in file.worth if not piece.definition] == [7]


def test_a_long_table_is_data_unless_it_makes_a_layer_that_overwrites() -> None:
    rows = "".join(f"    'layer{number}': {{'width': {number}, 'depth': 2}},\n" for number in range(200))
    source = (
        f"import torch\nSIZES = {{\n{rows}}}\nLAYERS = {{\n{rows}    'act': torch.nn.ReLU(inplace=True)}}\n"
        "def f(x):\n    return x.add_(SIZES['layer1']['width'])\n"
    )
    file = scan(source, ast.parse(source), TRIGGERS)
    read = [name for piece in file.pieces if piece.body for name in piece.binds] if file is not None else []
    assert read == ["torch", "LAYERS", "f"]


@pytest.mark.parametrize(
    ("source", "only"),
    [
        ("'A package.'\nfrom .block import *\nimport torch as t\n__all__ = ['Block', ('x', 1)]\nv: str = '1'", True),
        ("try:\n    import apex\nexcept ImportError:\n    apex = None\nelse:\n    pass", True),
        ("import sys\nif sys.version_info >= (3, 12):\n    from .new import f\nelse:\n    from .old import f", True),
        ("from .block import w\nw[0] = 1", False),
        ("from .block import w\nw += 1", False),
        ("from .block import fill\nif fill():\n    pass", False),
        ("from .block import fill\nw = fill()", False),
        ("from .block import fill\nfill()", False),
        ("from .block import w\nx = w", False),
        ("from .block import Block\nclass Other(Block):\n    pass", False),
    ],
)
def test_a_file_that_only_binds_names_is_told(source: str, only: bool) -> None:
    assert only_imports(ast.parse(source)) is only
