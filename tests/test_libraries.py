"""The tables of libraries over torch: what stands in them, what they cost, and what the linter makes of them."""

import importlib
import importlib.util
import json
import subprocess
import sys

import pytest
import torch

from flake8_inplace.analysis import analyze
from flake8_inplace.models.patterns import memory_of
from flake8_inplace.models.progress import BARS
from flake8_inplace.torchfacts import modules as layers
from flake8_inplace.torchfacts import notation, ops

HEAD = "import torch\nfrom torch import nn\n"


def found(source: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.code) for finding in analyze(HEAD + source).findings]


@pytest.mark.parametrize("package", sorted(ops.PACKAGES))
def test_every_row_is_read(package: str) -> None:
    table = ops.library(package)
    for row in table["rows"]:
        op = notation.parse_op(row)
        notation.check(op, row)
        assert notation.format_op(op) == row
    for name in table["names"]:
        assert name.startswith(f"{package}.")
        assert ops.lookup(name)
    for name in table.get("modules", {}):
        assert layers.lookup(name) is not None
    assert table["source"].startswith("https://github.com/")
    used = {index for rows in table["names"].values() for index in rows}
    assert used == set(range(len(table["rows"])))


def test_every_table_belongs_to_a_package() -> None:
    assert {path.stem for path in ops.LIBRARIES.glob("*.json")} == ops.PACKAGES


def test_names_that_overwrite_unseen_are_known_to_the_prefilter() -> None:
    names = set()
    for package in ops.PACKAGES:
        table = ops.library(package)
        names |= {name for name in table["names"] if any(op.unseen for op in ops.lookup(name))}
        names |= {name for name, entry in table.get("modules", {}).items() if notation.parse_op(entry["op"]).unseen}
    assert {name.rpartition(".")[2] for name in names} == ops.OVERWRITING


@pytest.mark.parametrize("package", ["einops", "liger_kernel", "torch_scatter", "torchvision"])
def test_rows_are_what_the_library_does(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: its rows cannot be executed")
    command = [sys.executable, "-m", "flake8_inplace.torchfacts.library_calls", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_table_is_read_when_a_name_of_it_is() -> None:
    program = f"""
from flake8_inplace.analysis import analyze
from flake8_inplace.torchfacts import ops
body = "def f(x: torch.Tensor):\\n    y = x.exp()\\n    z = {{}}\\n    y += 1\\n    return y + z\\n"
analyze({HEAD!r} + "import einops\\n" + body.format("g(y)"))
print(ops.library.cache_info().currsize)
analyze({HEAD!r} + "import einops\\n" + body.format("einops.rearrange(y, 'a -> a 1')"))
print(ops.library.cache_info().currsize)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


@pytest.mark.parametrize(
    ("pattern", "memory"),
    [
        ("a b c -> c a b", "view"),
        ("a (b c) -> a b c", "view"),
        ("a b -> a b 1", "view"),
        ("a b -> a b ()", "view"),
        ("a 1 b -> a b", "view"),
        ("... c -> c ...", "view"),
        ("a b -> (a b)", ""),
        ("a b -> (b a)", "copy"),
        ("a b c -> (a c) b", "copy"),
        ("a 1 b -> (a b)", ""),
        ("a ... -> a (...)", ""),
        ("a b -> n a b", "expand"),
        ("a b -> a 3 b", "expand"),
        ("a b -> (n a) b", "copy"),
        ("a b -> n (a b)", ""),
        ("a b -> a (b 1)", "view"),
    ],
)
def test_memory_of_a_pattern(pattern: str, memory: str) -> None:
    assert memory_of(pattern) == memory


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "from einops import rearrange\n"
            "def f(x: torch.Tensor):\n    y = x.exp()\n    z = rearrange(y, 'a (b c) -> a b c', b=2)\n"
            "    z += 1\n    return z\n",
            [(7, "TIP103")],
        ),
        (
            "from einops import repeat\n"
            "def f(x: torch.Tensor, n: int):\n    y = repeat(x, 'a -> a n', n=2)\n    y += 1\n    return y\n",
            [(6, "TIP204")],
        ),
        (
            "from einops import repeat\n"
            "def f(x: torch.Tensor, n: int):\n    y = repeat(x, 'a -> (a n)', n=n)\n    y += 1\n    return y\n",
            [],
        ),
        (
            "from einops.layers.torch import Rearrange\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.turn = Rearrange('a (b c) -> c a b', b=2)\n"
            "    def forward(self, x):\n        y = self.turn(x.exp())\n        y.detach_()\n"
            "        return y\n",
            [(10, "TIP206")],
        ),
        (
            "from einops.layers.torch import Rearrange\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.apart = Rearrange('a b (p c) -> a c (b p)', p=2)\n"
            "    def forward(self, x):\n        y = self.apart(x.exp())\n        y.detach_()\n"
            "        return y\n",
            [],
        ),
        (
            "from einops.layers.torch import Reduce\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.pool = Reduce('a b -> a', 'max')\n"
            "    def forward(self, x):\n        h = x * 2\n        y = self.pool(h)\n        h += 1\n"
            "        return y\n",
            [(11, "TIP103")],
        ),
        (
            "from einops.layers.torch import Reduce\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.pool = Reduce('a b -> a', 'mean')\n"
            "    def forward(self, x):\n        h = x * 2\n        y = self.pool(h)\n        h += 1\n"
            "        return y\n",
            [],
        ),
        (
            "from liger_kernel.transformers.functional import liger_cross_entropy\n"
            "class Head(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.out = nn.Linear(4, 8)\n"
            "    def forward(self, x, y):\n        logits = self.out(x)\n        p = logits.logsumexp(-1).mean()\n"
            "        return liger_cross_entropy(logits, y) + p\n",
            [(11, "TIP301")],
        ),
        (
            "from liger_kernel.transformers.functional import liger_cross_entropy\n"
            "class Head(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.out = nn.Linear(4, 8)\n"
            "    def forward(self, x, y):\n        return liger_cross_entropy(self.out(x), y)\n",
            [],
        ),
        (
            "from torch_scatter import scatter_add\n"
            "def f(src: torch.Tensor, index: torch.Tensor):\n    out = torch.zeros(4)\n"
            "    return scatter_add(src, index, 0, out=out)\n",
            [],
        ),
    ],
)
def test_programs(source: str, expected: list[tuple[int, str]]) -> None:
    assert found(source) == expected


@pytest.mark.parametrize(
    ("said", "tensor"),
    [
        ("Shaped[torch.Tensor, 'b c']", True),
        ("Float32[torch.Tensor, '*b c']", True),
        ("TensorType['b', 'c']", True),
        ("TT['b', float]", True),
        ("Image", True),
        ("'Image'", True),
        ("Optional[Image]", False),  # it may be None: the program has to say
        ("Int64[torch.Tensor, 'b']", False),
        ("TensorType['b', torch.long]", False),
        ("Float[np.ndarray, 'b']", False),
        ("Ids", False),
        ("Config", False),
    ],
)
def test_annotations(said: str, tensor: bool) -> None:
    """Only the annotation tells that `x` is a tensor of floats: its square root is what autograd keeps."""
    source = (
        "import numpy as np\nfrom typing import Optional\n"
        "from jaxtyping import Float, Float32, Int64, Shaped\n"
        "from torchtyping import TensorType\nfrom torchtyping import TensorType as TT\nfrom config import Config\n"
        "Image = Float[torch.Tensor, '3 h w']\nIds = Int64[torch.Tensor, 'n']\n"
        f"def f(x: {said}):\n    y = x ** 2\n    x += 1\n    return y\n"
    )
    assert [code for _, code in found(source) if code == "TIP103"] == ["TIP103"] * tensor


@pytest.mark.parametrize(
    ("line", "handled"),
    [
        ("from einops.layers.torch import Rearrange", True),
        ("from torch_scatter import scatter", True),
        ("import xformers.ops as xops", True),
        ("from einops import rearrange", False),  # of arrays of any kind
        ("from jaxtyping import Float", False),
    ],
)
def test_which_import_says_that_a_file_handles_tensors(line: str, handled: bool) -> None:
    source = f"{line}\ndef f(x):\n    y = x.sigmoid()\n    y.mul_(2)\n    return y\n"
    assert bool(analyze(source).findings) is handled


def test_tables_are_json_of_the_format_of_inplace_ops() -> None:
    for path in ops.LIBRARIES.glob("*.json"):
        assert json.loads(path.read_text()).keys() <= {"format", "version", "source", "rows", "names", "modules"}


@pytest.mark.parametrize("name", BARS)
def test_progress_bars_yield_what_they_are_given(name: str) -> None:
    module, _, function = name.rpartition(".")
    try:
        bar = getattr(importlib.import_module(module), function)
    except ImportError:
        pytest.skip(f"{module} is not installed")
    given = [object(), object(), object()]
    yielded = list(bar(given))
    assert len(yielded) == len(given)
    assert all(one is other for one, other in zip(yielded, given, strict=True))


@pytest.mark.parametrize("package", ["accelerate", "lightning"])
def test_launchers_return_what_they_are_given(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if package == "accelerate":
        launcher = importlib.import_module("accelerate").Accelerator(cpu=True)
        given, stepped = launcher.prepare(model, optimizer)
        assert launcher.unwrap_model(given) is model
    else:
        launcher = importlib.import_module("lightning.fabric").Fabric(accelerator="cpu")
        given, stepped = launcher.setup(model, optimizer)
    before = model.weight.detach().clone()
    launcher.backward(given(torch.ones(2)).sum())
    stepped.step()
    assert all(one is other for one, other in zip(given.parameters(), model.parameters(), strict=True))
    assert not torch.equal(model.weight, before)


@pytest.mark.parametrize("package", ["attrs", "pydantic", "msgspec"])
def test_records_keep_the_tensors_they_are_given(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    library = importlib.import_module(package)
    members = {"__annotations__": {"value": torch.Tensor, "values": list[torch.Tensor]}}
    if package == "attrs":
        made = library.define(type("Record", (), members))
    elif package == "msgspec":
        made = type(library.Struct)("Record", (library.Struct,), members)
    else:
        members["model_config"] = {"arbitrary_types_allowed": True}
        made = type(library.BaseModel)("Record", (library.BaseModel,), members)
    given = torch.zeros(2)
    record = made(value=given, values=[given])
    assert record.value is given
    assert record.values[0] is given
