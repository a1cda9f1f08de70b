"""Fixed programs mean what they meant: each is executed and its values and gradients are laid beside a good version.

The programs were written before anybody looked at what the linter or the fixer says of them.
"""

import random
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from generated import fixes
from generated.programs import make_program

from flake8_inplace.analysis import analyze
from flake8_inplace.fix import Repair, apply, mend
from flake8_inplace.rules import RULES

UNSEEN = "not found"
PROGRAMS: dict[str, tuple[str, str | None]] = {}
H = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def net(body, init="", extra=""):
    return (
        H
        + extra
        + f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.fc2 = nn.Linear(4, 2)
        {init or "pass"}

    def forward(self, x):
"""
        + "".join("        " + line + "\n" for line in body.strip("\n").split("\n"))
        + """

def run():
    torch.manual_seed(0)
    net = Net()
    x = torch.randn(5, 3)
    loss = net(x)
    loss = loss if isinstance(loss, torch.Tensor) else sum(part.sum() for part in loss)
    loss.sum().backward()
    return [loss], [p.grad for p in net.parameters()]
"""
    )


def both(name, bad, good, **k):
    PROGRAMS[name] = (net(bad, **k), net(good, **k) if good else None)


both(
    "halves of a chunk put together again",
    """
h = self.fc1(x)
a, b = h.chunk(2, 1)
a += b.sum()
b += a.tanh()
return self.fc2(torch.cat([a, b], 1))""",
    """
h = self.fc1(x)
a, b = h.chunk(2, 1)
a = a + b.sum()
b = b + a.tanh()
return self.fc2(torch.cat([a, b], 1))""",
)
both(
    "an element that a list holds twice, one of two tensors",
    """
h = self.fc1(x)
a = h.sigmoid() if x.sum() > 0 else h.tanh()
xs = [a, x, a]
xs[2].mul_(2)
return self.fc2(xs[0]) + self.fc2(xs[2])""",
    """
h = self.fc1(x)
a = h.sigmoid() if x.sum() > 0 else h.tanh()
a = a * 2
return self.fc2(a) + self.fc2(a)""",
)
both(
    "an element that another list has too",
    """
xs = [x, self.fc1(x).sigmoid()]
kept = [xs[1]]
if kept:
    xs[1].mul_(2)
return self.fc2(kept[0]) + self.fc2(xs[1])""",
    """
a = self.fc1(x).sigmoid() * 2
return self.fc2(a) + self.fc2(a)""",
)
both(
    "entry of a defaultdict, which stays one",
    """
def prepare(parts):
    parts["a"] += 1
    parts["seen"].append(1)
    return parts
parts = collections.defaultdict(list, a=self.fc1(x))
out = prepare(parts)
return self.fc2(out["a"]) + self.fc2(parts["a"]).square()""",
    """
a = self.fc1(x)
return self.fc2(a + 1) + self.fc2(a).square()""",
    extra="import collections\n",
)
both(
    "entry whose key is no ASCII",
    """
def prepare(parts):
    parts["😀"] += 1
    return parts
parts = {"😀": self.fc1(x)}
out = prepare(parts)
return self.fc2(out["😀"]) + self.fc2(parts["😀"]).square()""",
    """
a = self.fc1(x)
return self.fc2(a + 1) + self.fc2(a).square()""",
)
both(
    "no_grad clamp",
    """
h = torch.sigmoid(self.fc1(x))
with torch.no_grad():
    h.clamp_(max=0.5)
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x)).clone()
with torch.no_grad():
    h.clamp_(max=0.5)
return self.fc2(h)""",
)
both(
    "no_grad subscript",
    """
h = torch.tanh(self.fc1(x))
with torch.no_grad():
    h[:, 0] = 0
return self.fc2(h)""",
    """
h = torch.tanh(self.fc1(x)).clone()
with torch.no_grad():
    h[:, 0] = 0
return self.fc2(h)""",
)
SHRINK = "\n@torch.no_grad()\ndef shrink(t):\n    t *= 0.5\n\n"
both(
    "no_grad augmented in a helper",
    """
h = torch.exp(self.fc1(x))
shrink(h)
return self.fc2(h)""",
    """
h = torch.exp(self.fc1(x)).clone()
shrink(h)
return self.fc2(h)""",
    extra=SHRINK,
)
both(
    "no_grad relu flag",
    """
h = torch.sigmoid(self.fc1(x))
with torch.no_grad():
    g = F.threshold(h, 0.4, 0.0, inplace=True)
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x)).clone()
with torch.no_grad():
    g = F.threshold(h, 0.4, 0.0, inplace=True)
return self.fc2(h)""",
)
both(
    "set_grad_enabled mask",
    """
h = torch.softmax(self.fc1(x), -1)
with torch.set_grad_enabled(False):
    h.masked_fill_(h < 0.2, 0.0)
return self.fc2(h)""",
    """
h = torch.softmax(self.fc1(x), -1).clone()
with torch.set_grad_enabled(False):
    h.masked_fill_(h < 0.2, 0.0)
return self.fc2(h)""",
)
both(
    "coupling of views, base returned",
    """
z = torch.tanh(self.fc1(x))
z1, z2 = z[:, :2], z[:, 2:]
s = torch.exp(z1)
w = z2 * s
z2 += 1
z2 *= s
return z, w""",
    """
z = torch.tanh(self.fc1(x)).clone()
z1, z2 = z[:, :2], z[:, 2:]
s = torch.exp(z1.clone())
w = z2.clone() * s
z2 += 1
z2 *= s
return z, w""",
)
both(
    "view under a name, base read",
    """
z = torch.exp(self.fc1(x))
row = z[0]
row *= 2
return self.fc2(z)""",
    """
z = torch.exp(self.fc1(x)).clone()
row = z[0]
row *= 2
return self.fc2(z)""",
)
both(
    "transposed, base read",
    """
z = torch.exp(self.fc1(x))
t = z.t()
t[0] = 1.0
return self.fc2(z)""",
    """
z = torch.exp(self.fc1(x)).clone()
t = z.t()
t[0] = 1.0
return self.fc2(z)""",
)
both(
    "initialised by a view twice",
    """
return self.fc2(torch.tanh(self.fc1(x)))""",
    """
return self.fc2(torch.tanh(self.fc1(x)))""",
)
init = """b = self.fc1.bias.view(2, -1)
        BEGIN
            b[:, 0] -= 4.6
        BEGIN
            b[:, 1:] += 1.0"""
PROGRAMS["initialised by a view twice"] = (
    net("return self.fc2(torch.tanh(self.fc1(x)))", init=init.replace("BEGIN\n            ", "")),
    net("return self.fc2(torch.tanh(self.fc1(x)))", init=init.replace("BEGIN", "with torch.no_grad():")),
)
PROGRAMS["initialised by index"] = (
    net("return self.fc2(torch.tanh(self.fc1(x)))", init="self.fc1.weight[0] = 0"),
    net("return self.fc2(torch.tanh(self.fc1(x)))", init="with torch.no_grad(): self.fc1.weight[0] = 0"),
)
PROGRAMS["initialised by method"] = (
    net("return self.fc2(torch.tanh(self.fc1(x)))", init="self.fc1.weight.mul_(0.5)"),
    net("return self.fc2(torch.tanh(self.fc1(x)))", init="with torch.no_grad(): self.fc1.weight.mul_(0.5)"),
)
PROGRAMS["function over a parameter"] = (
    net("return self.fc2(torch.tanh(self.fc1(x)))", init="F.threshold_(self.fc1.weight, 0.1, 0.0)"),
    net(
        "return self.fc2(torch.tanh(self.fc1(x)))", init="with torch.no_grad(): F.threshold_(self.fc1.weight, 0.1, 0.0)"
    ),
)
both(
    "logical_not",
    """
z = torch.exp(self.fc1(x))
z.logical_not_()
return self.fc2(z)""",
    """
z = torch.exp(self.fc1(x)).clone()
z.logical_not_()
return self.fc2(z)""",
)
both(
    "compared",
    """
z = torch.sigmoid(self.fc1(x))
m = z * 2
y = z * z
z.gt_(0.5)
return self.fc2(z * m), y""",
    """
z = torch.sigmoid(self.fc1(x))
m = z * 2
y = z * z
z = (z > 0.5).float()
return self.fc2(z * m), y""",
)
both(
    "module with a discarded result",
    """
h = torch.tanh(self.fc1(x))
self.act(h)
return self.fc2(h)""",
    """
h = self.act(torch.tanh(self.fc1(x)).clone())
return self.fc2(h)""",
    init="self.act = nn.LeakyReLU(0.1, inplace=True)",
)
both(
    "module in place, result bound",
    """
h = torch.tanh(self.fc1(x))
h = self.act(h)
return self.fc2(h)""",
    """
h = self.act(torch.tanh(self.fc1(x)).clone())
return self.fc2(h)""",
    init="self.act = nn.LeakyReLU(0.1, inplace=True)",
)
both(
    "functional, discarded",
    """
h = torch.sigmoid(self.fc1(x))
F.leaky_relu(h, 0.1, inplace=True)
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x))
h = F.leaky_relu(h, 0.1)
return self.fc2(h)""",
)
both(
    "tuple of chunks",
    """
h = torch.exp(self.fc1(x))
parts = h.chunk(2, 1)
parts[0][0] = 0
return self.fc2(torch.cat(parts, 1))""",
    """
h = torch.exp(self.fc1(x))
parts = list(h.chunk(2, 1))
parts[0] = parts[0].clone()
parts[0][0] = 0
return self.fc2(torch.cat(parts, 1))""",
)
both(
    "split and unbind",
    """
h = torch.sigmoid(self.fc1(x))
a, b = h.split(2, 1)
a += 1
return self.fc2(torch.cat((a, b), 1))""",
    """
h = torch.sigmoid(self.fc1(x))
a, b = h.split(2, 1)
a = a + 1
return self.fc2(torch.cat((a, b), 1))""",
)
both(
    "bernoulli noise",
    """
h = torch.sigmoid(self.fc1(x))
g = torch.zeros_like(h)
y = h * g
g.fill_(0.5)
return self.fc2(h * g), y""",
    """
h = torch.sigmoid(self.fc1(x))
g = torch.zeros_like(h)
y = h * g
g = torch.full_like(g, 0.5)
return self.fc2(h * g), y""",
)
both(
    "scan with rows",
    """
h = self.fc1(x)
out = torch.zeros(5, 4)
out[0] = torch.tanh(h[0])
for i in range(1, 5):
    out[i] = torch.tanh(out[i - 1] * h[i])
return self.fc2(out)""",
    """
h = self.fc1(x)
rows = [torch.tanh(h[0])]
for i in range(1, 5):
    rows.append(torch.tanh(rows[i - 1] * h[i]))
return self.fc2(torch.stack(rows))""",
)
both(
    "rows with a state beside",
    """
h = self.fc1(x)
out = torch.zeros(5, 4)
s = torch.zeros(4)
for i in range(5):
    s = torch.tanh(s + h[i])
    out[i] = s * out.sum(0)
return self.fc2(out)""",
    None,
)
both(
    "iteration of rows",
    """
h = torch.sigmoid(self.fc1(x))
for row in h:
    row.mul_(2)
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x))
h = torch.stack([row.mul(2) for row in h])
return self.fc2(h)""",
)
both(
    "iteration with augmented",
    """
h = torch.sigmoid(self.fc1(x))
for row in h:
    row += 1
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x))
h = h + 1
return self.fc2(h)""",
)


def iterated(name, loop, good=None, before="", first="h = self.fc1(x)", last="return self.fc2(h)"):
    """A loop over rows that overwrites them, and the same with every part indexed alone, or on a copy."""
    both(f"iteration{name}", f"{first}\n{before}{loop}\n{last}", f"{first}\n{before}{good or loop}\n{last}")


iterated(", plain", "for row in h:\n    row.mul_(2)", "h = h * 2")
iterated(
    " with a counter",
    "for k, row in enumerate(h):\n    row[0] = row[1] * k",
    "for k in range(len(h)):\n    h[k, 0] = h[k, 1] * k",
)
iterated(
    " beside factors, the shortest ends",
    "for row, factor in zip(h, (2.0, 3.0)):\n    row *= factor",
    "for k, factor in enumerate((2.0, 3.0)):\n    h[k] *= factor",
)
iterated(" of columns", "for column in h.unbind(1):\n    column.sub_(1)", "h = h - 1")
iterated(
    " in an iteration",
    "for plane in g:\n    for row in plane:\n        row.add_(row.detach().max())",
    "for k in range(5):\n    for j in range(2):\n        g[k, j].add_(g[k, j].detach().max())",
    before="g = h.view(5, 2, 2)\n",
)
iterated(
    ", the tensor kept, its rows read",
    "total = 0\nfor row in h:\n    row.clamp_(max=0.5)\n    total = total + row.sum()",
    "h = h.clamp(max=0.5)\ntotal = h.sum()",
    first="h = torch.exp(self.fc1(x))",
    last="return self.fc2(h), total",
)
iterated(
    ", an alias sees the writes",
    "for row in h:\n    row.mul_(3)",
    "h = h * 3\nsame = h",
    before="same = h\n",
    last="return self.fc2(same), h",
)
iterated(
    " over a list of rows",
    "for row in rows:\n    row.mul_(2)",
    "h = h * 2",
    before="rows = list(h)\n",
)
iterated(
    ", rebound within",
    "for row in h:\n    row.mul_(2)\n    h = h + 1",
    "g = h\nfor k in range(len(g)):\n    g[k].mul_(2)\n    h = h + 1",
)
both(
    "callee overwrites",
    """
h = torch.exp(self.fc1(x))
shift(h)
return self.fc2(h)""",
    """
h = torch.exp(self.fc1(x))
h = h + 1
return self.fc2(h)""",
    extra="\ndef shift(t):\n    t += 1\n\n",
)
both(
    "callee returns it",
    """
h = torch.exp(self.fc1(x))
y = shift(h)
return self.fc2(y)""",
    """
h = torch.exp(self.fc1(x))
y = h + 1
return self.fc2(y)""",
    extra="\ndef shift(t):\n    t += 1\n    return t\n\n",
)
both(
    "callee returns it, both read",
    """
h = torch.exp(self.fc1(x))
y = shift(h)
return self.fc2(y) + self.fc2(h)""",
    """
h = torch.exp(self.fc1(x)).clone()
y = shift(h)
return self.fc2(y) + self.fc2(h)""",
    extra="\ndef shift(t):\n    t += 1\n    return t\n\n",
)
both(
    "residual",
    """
h = torch.relu(self.fc1(x))
r = h
h += torch.tanh(h)
return self.fc2(h)""",
    """
h = torch.relu(self.fc1(x))
h = h + torch.tanh(h)
return self.fc2(h)""",
)
both(
    "attribute state",
    """
self.s = torch.tanh(self.fc1(x))
self.s *= 0.5
return self.fc2(self.s)""",
    """
self.s = torch.tanh(self.fc1(x))
self.s = self.s * 0.5
return self.fc2(self.s)""",
)
both(
    "dictionary",
    """
d = {'h': torch.sigmoid(self.fc1(x))}
d['h'] *= 2
return self.fc2(d['h'])""",
    """
d = {'h': torch.sigmoid(self.fc1(x))}
d['h'] = d['h'] * 2
return self.fc2(d['h'])""",
)
both(
    "list",
    """
l = [torch.sigmoid(self.fc1(x)), x]
l[0].mul_(2)
return self.fc2(l[0])""",
    """
l = [torch.sigmoid(self.fc1(x)), x]
l[0] = l[0].mul(2)
return self.fc2(l[0])""",
)
both(
    "out",
    """
h = torch.sigmoid(self.fc1(x)).detach()
y = self.fc2(h)
torch.mul(h, 2, out=h)
return y + self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x)).detach()
y = self.fc2(h)
h = torch.mul(h, 2)
return y + self.fc2(h)""",
)
both(
    "numpy of a detached",
    """
h = torch.sigmoid(self.fc1(x))
h.detach().numpy()[0] = 0
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x)).clone()
h.detach().numpy()[0] = 0
return self.fc2(h)""",
)
both(
    "data mask",
    """
h = torch.softmax(self.fc1(x), -1)
h.data[:, 0] = 0
return self.fc2(h)""",
    """
h = torch.softmax(self.fc1(x), -1).clone()
h.data[:, 0] = 0
return self.fc2(h)""",
)
both(
    "where mask twice",
    """
h = torch.softmax(self.fc1(x), -1)
m = h < 0.2
h[m] = 0
h /= h.sum(-1, keepdim=True)
return self.fc2(h)""",
    """
h = torch.softmax(self.fc1(x), -1)
m = h < 0.2
h = h.masked_fill(m, 0)
h = h / h.sum(-1, keepdim=True)
return self.fc2(h)""",
)
both(
    "chain in expression",
    """
return self.fc2(torch.exp(self.fc1(x)).mul_(2).sub_(1))""",
    """
return self.fc2(torch.exp(self.fc1(x)).mul(2).sub(1))""",
)
both(
    "swapped",
    """
h = torch.exp(self.fc1(x))
h[0], h[1] = h[1], h[0]
return self.fc2(h)""",
    None,
)
both(
    "conditional",
    """
h = torch.sigmoid(self.fc1(x))
if x.sum() < 100:
    h -= h.mean()
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x))
h = h - h.mean()
return self.fc2(h)""",
)
both(
    "kept in a list, returned",
    """
outs = []
h = torch.exp(self.fc1(x))
outs.append(h)
h *= 2
outs.append(h)
return sum(self.fc2(o) for o in outs)""",
    """
outs = []
h = torch.exp(self.fc1(x)).clone()
outs.append(h)
h *= 2
outs.append(h)
return sum(self.fc2(o) for o in outs)""",
)
both(
    "kept on self, read later",
    """
h = torch.exp(self.fc1(x))
self.last = h
h *= 2
return self.fc2(self.last)""",
    """
h = torch.exp(self.fc1(x))
h = h * 2
return self.fc2(h)""",
)
both(
    "index_fill",
    """
h = torch.sqrt(self.fc1(x).abs() + 1)
h.index_fill_(0, torch.tensor([0, 1]), 0.0)
return self.fc2(h)""",
    """
h = torch.sqrt(self.fc1(x).abs() + 1)
h = h.index_fill(0, torch.tensor([0, 1]), 0.0)
return self.fc2(h)""",
)
both(
    "leaf of the program",
    """
w = torch.zeros(4, requires_grad=True)
w[0] = 1.0
return self.fc2(torch.tanh(self.fc1(x)) * w)""",
    """
w = torch.zeros(4)
w[0] = 1.0
return self.fc2(torch.tanh(self.fc1(x)) * w)""",
)
both(
    "expanded",
    """
h = self.fc1(x)
b = torch.ones(1, 4).expand(5, 4)
b[0] = 2.0
return self.fc2(h * b)""",
    None,
)
both(
    "dropout flag",
    """
h = torch.sigmoid(self.fc1(x))
h = F.dropout(h, 0.0, inplace=True)
h = F.relu_(h)
return self.fc2(h)""",
    """
h = torch.sigmoid(self.fc1(x))
h = F.relu(h)
return self.fc2(h)""",
)


def read(text: str) -> None:
    """The programs of a file: lines that end with ``#-`` are of the bad version only, with ``#+`` of the good one."""
    for chunk in text.split("### ")[1:]:
        name, body = chunk.split("\n", 1)
        lines = body.splitlines()
        bad = [line.removesuffix("  #-") for line in lines if not line.endswith("#+")]
        good = [line.removesuffix("  #+") for line in lines if not line.endswith("#-")]
        assert name not in PROGRAMS, name
        PROGRAMS[name] = (H + "\n".join(bad) + "\n", H + "\n".join(good) + "\n")


read(Path(__file__).with_name("data").joinpath("fixed.txt").read_text())

#: Nobody but the author knows what is meant, or no form is known.
LEFT = {
    "the same operand twice, held by a tuple": "copies of the operands leave the element of the tuple stale",
    "step gan critic": "the order of two optimizers is the author's to change",
    "data of a weight between forward and backward": "not meant for a fix: it writes to a parameter on purpose",
    "argument: caller reads on": UNSEEN,
    "feature kept on self": UNSEEN,
    "rescaled through data": "under no_grad the gradient would stay as wrong as it is",
    "no_grad relu flag": "the caller reads the tensor under its old name: a copy would hide that",
    "inplace module-level activation under another name": "the input is read afterwards, as the module left it",
    "rows with a state beside": "not found: the values of the loop are not saved where they are written",
    "iteration over a list of rows": "the rows were made before, all at once",
    "callee returns it, both read": "the caller reads the argument after the call",
    "kept in a list, returned": "the list holds the tensor as it was",
    "kept on self, read later": "the attribute holds the tensor as it was",
}


def sections(folder: Path) -> dict[str, str]:
    """The programs of the pages in a folder, by their headings."""
    return {
        part.partition("\n")[0]: part.partition("\n")[2]
        for page in sorted(folder.glob("*.txt"))
        for part in re.split("^### ", page.read_text(), flags=re.MULTILINE)[1:]
    }


PAGES = sections(Path(__file__).parent / "fixed")
"""The programs of `tests/fixed/`. A line that ends in ``# bad`` or ``# good`` stands in that version only."""
PASSING = {"dynamic programming: elements written in a double loop", "GRU state rows masked in a loop over a batch"}
"""Not bad after all."""
NOT_FOUND = {
    "history buffer shifted over itself",
    "attribute holds the activation that is then overwritten",
    "tied weights, one of them initialised by the other's name",
    "frame buffer shifted over itself",
    "float scores written to a table of integers",
    "norm kept on ctx is shared with what the forward returns",
    "mask of a custom dropout on ctx is cleared in forward",
    "votes of experts are counted in a table of integers",
    "saved tensors are packed without a copy and the activation is scaled",
    "LSTM states in a list, copied shallowly",
    "tuple of states",
    "batch with strings beside tensors",
}
NO_FIX = {
    "weights clipped through .data between forward and backward": "not meant for a fix: the order is the author's",
    "losses in sequence: the optimizer steps before the second backward": "the order is the author's to change",
    "coupling layer: views of z are moved, z is returned": "the layer between keeps the other half, of one memory",
    "method that clamps its argument, called by a caller that returns another thing": "the caller reads it afterwards",
    "positional embedding added to the caller's tokens by two heads": "the caller reads it afterwards",
    "accumulate into a parameter's view in forward": "under no_grad the gradient of what is written would be lost",
    "alias in a dict, read by the caller": "the dictionary holds the tensor as it was",
    "two names for one part, both read": "either copy would hide the write from the other name",
    "generator step between the critic's forward and backward": "the order is the author's to change",
    "per-sample values collected in an unbatched buffer under vmap": "which tensor has the batch is for the author",
    "temperature applied through .data, gradient without it": "the factor may not be meant for the gradient",
    "state in a list detached in place, the list read": "the list is to see it detached",
    "row of a table made under no_grad, the index moves on before the write": "the same view again is another one",
    "actor and critic share a trunk, the actor's step comes before the critic's backward": "the order is the author's",
    "parameters are kept in a range by a helper that loops over them, between two losses": "the order is the author's",
    "memory of a transformer-XL is detached in place before the loss is differentiated": "who else is to see it",
    "leaky activation with a slope of minus one half, in place": "the slope may be a mistake",
    "per-sample loss under vmap fills a new tensor with gaps": "which tensor has the batch is for the author",
    "a vector of features is turned into a grid by resize_": "what is meant, a view or another size, is for the author",
    "a step through .data with a second-order gradient": "the step may not be meant for the gradient",
    "a running mean is updated inside what a checkpoint computes again": "where else is for the author",
    "fused Adam steps between two losses": "the order is the author's to change",
    "params list used for clipping and for the drift": "the list is handed to an optimizer too",
    "one list is optimised and compared": "the list is handed to an optimizer too",
    "named parameters kept in a dict": "no form for it",
    "gradient of the kept parameters is asked for": "a copy has no gradient",
    "hook function that is also called by hand": "that call wants its argument changed",
    "context attribute that the next backward reads": "that one would read a new tensor as well",
    "memory that each call updates": "the caller relates it to what it was",
    "one dictionary handed back twice": "it is one dictionary, whatever tensor it has",
}


RIGHT = sections(Path(__file__).parent / "fixed" / "right")
"""Programs that do what they are meant to."""


def executed(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<program>", "exec"), names)
        return [part for group in names["run"]() for part in group]


def alike(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        (a is None) == (b is None) and (a is None or torch.allclose(a, b, rtol=1e-4, atol=1e-6))
        for a, b in zip(one, other, strict=True)
    )


def version(name: str, which: str) -> str:
    lines = [re.match(r"(.*?)(?:  # (bad|good))?$", line) for line in PAGES[name].splitlines()]
    return "".join(f"{line[1]}\n" for line in lines if line is not None and line[2] in (None, which))


def runs(text: str) -> Any:
    """What a program returns, or its error."""
    names: dict[str, Any] = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<program>", "exec"), names)
        try:
            return names["run"]()
        except RuntimeError as error:
            return str(error)


@pytest.mark.parametrize("name", PAGES)
def test_blind_program_is_the_good_one(name: str) -> None:
    bad, meant = version(name, "bad"), runs(version(name, "good"))
    before = runs(bad)
    assert (not isinstance(before, str) and alike(before, meant)) == (name in PASSING)
    assert bool(analyze(bad).findings) == (name not in PASSING | NOT_FOUND)
    for unsafe in (False, True):
        done = mend(bad, fixes.every, unsafe)
        if not done.left:
            result = runs(done.text)
            assert not done.done or (not isinstance(result, str) and alike(result, meant))
    assert bool(done.left) == (name in NO_FIX)


@pytest.mark.parametrize("name", RIGHT)
def test_safe_fixes_leave_a_right_program_alone(name: str) -> None:
    before = runs(RIGHT[name])
    assert not isinstance(before, str)
    done = mend(RIGHT[name], fixes.every, unsafe=False)
    assert not done.done or alike(runs(done.text), before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_fixed_program_is_the_good_one(name: str) -> None:
    bad, good = PROGRAMS[name]
    for unsafe in (False, True):
        done = mend(bad, fixes.every, unsafe)
        if done.done and not done.left:
            assert alike(executed(done.text), executed(good if good is not None else done.text))
    assert bool(done.done) == (name not in LEFT)
    assert not done.done or not done.left
    assert bool(analyze(bad).findings) != LEFT.get(name, "").startswith(UNSEEN)


@pytest.mark.parametrize("number", range(40))
def test_generated_programs_keep_their_meaning(number: int) -> None:
    source = make_program(random.Random(f"meaning:{number}"))
    what, text = fixes.judge(source, unsafe=False)
    assert what in ("nothing", "right", "partly"), text


READ_ON = {
    "a helper": "h = torch.sigmoid(self.fc1(x))\ny = half(h)\nreturn self.fc2(h) + y.sum()",
    "a helper that binds it": "h = torch.sigmoid(self.fc1(x))\ny = rounded(h)\nreturn self.fc2(h) + y.sum()",
    "a module": "h = torch.exp(self.fc1(x))\ny = self.act(h)\nreturn self.fc2(h) + y.sum()",
    "in one branch": "h = torch.exp(self.fc1(x))\nif len(x) > 9:\n    h = h + 1\ny = self.act(h)\nreturn h + y",
}
HELPERS = """
def half(t):
    t *= 0.5
    return t * t

def rounded(t):
    t = torch.round_(t)
    return t * 2

"""


@pytest.mark.parametrize("body", READ_ON.values(), ids=READ_ON)
def test_whoever_reads_on_reads_what_was_written(body: str) -> None:
    """The values stay those of the program with copies of what it saves, or there is no fix."""
    text = net(body, init="self.act = nn.ReLU6(inplace=True)", extra=HELPERS) + "\n\ndef program():\n    run()\n"
    assert analyze(text).findings
    assert fixes.judge(text, unsafe=True)[0] in ("nothing", "right")


TAKEN_OUT = {
    "an entry": ("self.m = {0: torch.zeros(2)}", "m = self.m[0]\n        old = m", "self.m[0]"),
    "an attribute": ("self.m = torch.zeros(2)", "old = self.m\n        m = self.m", "self.m"),
    "one of several": ("self.m = {0: torch.zeros(2)}", "m, _ = self.m[0], 1\n        old = m", "self.m[0]"),
}


@pytest.mark.parametrize("name", TAKEN_OUT)
def test_who_has_a_buffer_gets_its_new_values(name: str) -> None:
    """``m = self.m``, ``m.mul_(2)``: a new tensor under the name of ``m`` would be lost after the call."""
    made, bound, held = TAKEN_OUT[name]
    program = f"""
import torch

class Moments:
    def __init__(self):
        {made}

    def step(self, x):
        {bound}
        m.mul_(0.5).add_(x)
        return (m - old).sum()

    def now(self):
        return {held}

def run():
    moments = Moments()
    return [moments.step(torch.ones(2)).item() for _ in range(2)], moments.now().tolist()
"""
    done = mend(program, lambda text, found: [True] * len(found), unsafe=True)
    assert done.done
    assert executed(done.text) == [2.0, 1.0, 1.5, 1.5]


# Somebody else is to have what is written


ALSO_READ = {
    "a second moment that a method hands out": """
class Largest(torch.optim.Optimizer):
    def prepare(self, p):
        state = self.state[p]
        if not state:
            state["v"] = torch.zeros_like(p)
            state["top"] = state["v"]  # bad
            state["top"] = torch.zeros_like(p)  # good
        return state["v"], state["top"]

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            v, top = self.prepare(p)
            v.mul_(0.5).addcmul_(p.grad, p.grad)
            torch.maximum(top, v, out=top)
            p.sub_(0.1 * p.grad / (top.sqrt() + 1))

def run():
    w = torch.nn.Parameter(torch.ones(1))
    optimizer = Largest([w], {})
    for slope in (8.0, 1.0):
        w.grad = torch.full((1,), slope)
        optimizer.step()
    return [w.detach(), optimizer.state[w]["v"], optimizer.state[w]["top"]]
""",
    "the grid that a view is of": """
class Grid:
    def __init__(self):
        self.cells = torch.arange(9.0).view(3, 3)

    def sweep(self):
        row = self.cells[1]
        before = row  # bad
        before = row.clone()  # good
        row.copy_(self.cells[0] + self.cells[2] ** 2)
        return (row - before).abs().sum()

def run():
    grid = Grid()
    return [grid.sweep(), grid.cells]
""",
    "a caller that throws the result away": """
class Chain:
    def __init__(self):
        self.states = torch.arange(6.0).view(3, 2)

    def exchange(self):
        swap(self.states, 0, 1)

def swap(states, i, j):
    first, second = states[i], states[j]  # bad
    first, second = states[i].clone(), states[j].clone()  # good
    states[i] = second
    states[j] = first
    return states

def run():
    chain = Chain()
    chain.exchange()
    return [chain.states]
""",
    "a tensor that shows an array": """
def without_each(table):
    shown, sums = torch.from_numpy(table), []
    for i in range(len(table)):
        row = table[i]  # bad
        row = table[i].copy()  # good
        table[i] *= 0
        sums.append(shown.sum())
        table[i] = row
    return sums

def run():
    return [torch.stack(without_each(np.ones((3, 2), dtype=np.float32)))]
""",
}
"""Who reads it stands beyond the analysis, or beyond the function: each value is compared."""

NOBODY_KNOWS = {
    "an average of parameters that two modules share": """
from torch import nn

def accumulate(average, net):
    mine, theirs = dict(average.named_parameters()), dict(net.named_parameters())
    for name in mine:
        mine[name].data.mul_(0.9).add_(theirs[name].data, alpha=0.1)

def run():
    net, average = nn.Linear(2, 2), nn.Module()
    average.weight, average.bias = net.weight, net.bias
    for p in net.parameters():
        p.data.add_(1)
    accumulate(average, net)
    return list(average.parameters())
""",
    "a function that does nothing but write": """
def standardize(x):
    mean = x.mean()
    x.sub_(mean).div_(2.0)

def prepare(batch):
    for key in ("image", "reference"):
        standardize(batch[key])

def score(batch):
    prepare(batch)
    return batch["image"] - batch["reference"]

def run():
    image, reference = torch.arange(4.0), torch.ones(4)
    shown = score({"image": image, "reference": reference})
    return (shown - reference).sum()
""",
    "two names for what is written": """
def loss(logits, target):
    positive = target.ge_(0.5)
    return (logits - target).pow(2).mean() * (1 + positive.sum())

def run():
    target = torch.rand(3)
    return loss(torch.zeros(3), target), target.sum()
""",
}
"""One fix would leave somebody the wrong values, and the finding would be gone."""


@pytest.mark.parametrize("name", ALSO_READ)
def test_whoever_else_reads_it_gets_what_the_good_program_writes(name: str) -> None:
    lines = ("import numpy as np\nimport torch\n" + ALSO_READ[name]).splitlines(keepends=True)
    bad, good = ("".join(line for line in lines if f"# {other}" not in line) for other in ("good", "bad"))
    done = mend(bad, fixes.every, unsafe=True)
    assert done.done and not done.left
    assert alike(runs(done.text), runs(good))


def test_a_list_with_something_else_is_not_cloned_element_by_element() -> None:
    text = """import torch

def rescale(boxes, factor):
    for box in boxes:
        if box is not None:
            box.mul_(factor)
    return torch.cat([box for box in boxes if box is not None])

def run():
    boxes = [torch.ones(1, 4), None]
    big = rescale(boxes, 2.0)
    return big, boxes[0].sum()
"""
    assert analyze(text).findings
    assert not mend(text, fixes.every, unsafe=True).done


@pytest.mark.parametrize("name", NOBODY_KNOWS)
def test_no_fix_hides_what_it_leaves(name: str) -> None:
    text = "import numpy as np\nimport torch\n" + NOBODY_KNOWS[name]
    assert analyze(text).findings
    assert not mend(text, fixes.every, unsafe=True).done


EMPTIED = """import torch

class Meter:
    def __init__(self):
        self.counts = torch.zeros(2)

    def update(self, x):
        self.counts += x

    def compute(self):
        return self.counts

    def reset(self):
        self.counts.zero_()

def evaluate(meter, values):
    with torch.inference_mode():
        for x in values:
            meter.update(x)
    return meter.compute()

def run():
    meter, epochs = Meter(), []
    for factor in (1.0, 2.0):
        epochs.append(evaluate(meter, [torch.ones(2) * factor, torch.ones(2)]))
        meter.reset()
    return epochs
"""


def test_no_fix_makes_pytorch_refuse_another_write() -> None:
    """A new tensor of inference mode must not be emptied outside of it."""
    repair = Repair(EMPTIED)
    assert len(repair.found) == 2
    for finding in repair.found:
        fix = repair.propose(finding)
        assert fix is None or all(RULES[each.code].silent for each in analyze(apply(EMPTIED, fix.edits)).findings)


def test_findings_for_which_no_time_is_left_stay() -> None:
    text = net("h = torch.sigmoid(self.fc1(x))\nh += 1\nreturn self.fc2(h)")
    assert mend(text, fixes.every, unsafe=True).done
    done = mend(text, fixes.every, unsafe=True, end=0.0)
    assert done.late and done.left and not done.done and done.text == text
