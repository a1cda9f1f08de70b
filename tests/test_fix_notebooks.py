"""Fixes whose edits fall into several cells of a notebook. It runs from the first cell to the last.

Each notebook was executed with and without the fix. `found` is what the last cell computes.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_cli import notebook, run

W = "import torch\nfrom torch import nn\n\ntorch.manual_seed(0)\nw = torch.rand(4, 4, requires_grad=True)"
END = "loss = sum(part.pow(2).sum() for part in parts)\nloss.backward()\nfound = [loss.detach(), w.grad]"

#: Cells; the lines of the good version, by the lines that they replace; the title of the fix.
NOTEBOOKS = {
    "a tuple, made in the cell before": (
        (W, "parts = torch.chunk(w * 2, 2)", "parts[0].mul_(3)", END),
        {"parts[0].mul_(3)": "parts = [parts[0] * 3, parts[1]]"},
        "make `parts` a list",
    ),
    "parts, with the tensor read afterwards": (
        (W, "h = w * 2\na, b = h.chunk(2)", "# the first half\na += 1", "parts = [h]", END),
        {"a += 1": "h = torch.cat([a + 1, b])"},
        "make the views one by one",
    ),
    "one tensor for each element": (
        (
            W,
            "parts = [torch.zeros(4)] * 2",
            "for row in w[:2]:\n    print(row.shape)",
            "parts[0] += w[0]",
            END,
        ),
        {"parts = [torch.zeros(4)] * 2": "parts = [torch.zeros(4) for _ in range(2)]"},
        "make a tensor for each element",
    ),
    "a parameter, on several lines": (
        (W, "layer = nn.Linear(4, 4)", "layer.weight[\n    0\n] = 0.5", "parts = [layer(w)]", END),
        {"layer.weight[": "with torch.no_grad(): layer.weight["},
        "write under `torch.no_grad()`",
    ),
    "a loop over rows": (
        (W, "h = w * 2", "for row in h:\n    row *= 2", "parts = [h]", END),
        {"for row in h:": "h = h * 2\nfor row in ():"},
        "index the tensor instead of iterating over it",
    ),
    "a loop over chunks": (
        (W, "h = w * 2", "%%time\nfor part in h.split(2, dim=1):\n    part *= 2", "parts = [h]", END),
        {"for part in h.split(2, dim=1):": "h = h * 2\nfor part in ():"},
        "index the tensor instead of iterating over it",
    ),
    "rows in a list": (
        (
            W,
            "t = torch.zeros(4, 4)\nt[0] = w[0]\nfor i in range(1, 4):\n    t[i] = torch.tanh(t[i - 1] * w[i])",
            "parts = [t]",
            END,
        ),
        {
            "t = torch.zeros(4, 4)": "rows = []",
            "t[0] = w[0]": "rows.append(w[0])",
            "    t[i] = torch.tanh(t[i - 1] * w[i])": "    rows.append(torch.tanh(rows[-1] * w[i]))",
            "parts = [t]": "t = torch.stack(rows)\nparts = [t]",
        },
        "",
    ),
}


def cells(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def executed(texts: list[str]) -> Any:
    names: dict[str, Any] = {}
    for text in texts:
        exec(compile("\n".join(line for line in text.split("\n") if not line.startswith("%")), "<cell>", "exec"), names)
    return names["found"]


@pytest.mark.parametrize(("texts", "good", "title"), NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_mended_notebook_is_the_good_one(tmp_path: Path, texts: Any, good: dict[str, str], title: str) -> None:
    path = tmp_path / "n.ipynb"
    notebook(path, *texts)
    done = run("fix", "--unsafe-fixes", cwd=tmp_path)
    assert title in done.stderr and "0 findings left" in done.stderr
    after = cells(path)
    assert len(after) == len(texts) and (after[0], after[-1]) == (texts[0], texts[-1])
    meant = ["\n".join(good.get(line, line) for line in text.split("\n")) for text in texts]
    assert all(map(torch.allclose, executed(after), executed(meant)))
