"""Entries that are left out, since nothing that they call overwrites what was there before."""

import ast

import pytest

from flake8_inplace.analysis import interpreter, scan

NET = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.linear(x)) + x


class Net(nn.Module):
    def __init__(self, width=4, depth=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(width, width), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.norm = nn.BatchNorm1d(width)
        self.head = Block(width)
        self.other = Block(width)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.stem(x))))

    def features(self, x):
{body}
"""
LEFT_OUT = {
    "the same parts": "return self.norm(self.blocks(self.stem(x)))",
    "one after the other": "found = []\nfor block in self.blocks:\n    x = block(x)\n    found.append(x)\nreturn found",
}
READ = {
    "a write of its own": "x = self.head(x)\nx += 1\nreturn x",
    "a part that forward does not use": "return self.other(x)",
    "a layer that overwrites what it is given": "for layer in self.stem:\n    x = layer(x)\nreturn x",
    "such a layer, of another module": "x = self.head.linear(x)\nreturn self.head.act(x)",
    "whatever there is": "for part in self.children():\n    x = part(x)\nreturn x",
    "a layer in place that it makes": "return nn.ReLU(inplace=True)(self.head(x))",
}


def entries(body: str) -> set[str]:
    """The functions that are read."""
    source = NET.replace("{body}", "\n".join(f"        {line}" for line in body.split("\n")))
    file = scan.scan(source, ast.parse(source))
    assert file is not None
    machine = interpreter.analyse(file)
    return {node.name.value for node in machine.reached if hasattr(node.name, "value")}


@pytest.mark.parametrize("body", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_can_meet_no_save_is_left_out(body: str) -> None:
    assert entries(body) == {"__init__", "forward"}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_may_is_read(body: str) -> None:
    assert "features" in entries(body)
