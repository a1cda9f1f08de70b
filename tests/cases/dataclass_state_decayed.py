"""A recurrent state kept as a dataclass is decayed in place after tanh of it was read out.

source: written for this project, after kinds of errors that people report
"""

from dataclasses import dataclass

import torch
from torch import nn

RAISES = "modified by an inplace operation"


@dataclass
class State:
    memory: torch.Tensor
    output: torch.Tensor


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.write, self.read = nn.Linear(5, 4), nn.Linear(4, 2)

    def start(self, batch):
        return State(torch.zeros(batch, 4), torch.zeros(batch, 2))


class BadCell(Cell):
    def forward(self, x, state):
        state.memory = torch.tanh(state.memory + self.write(torch.cat([x, state.output], 1)))
        state.output = self.read(state.memory)
        state.memory *= 0.9  # HAZARD saved
        return state


class GoodCell(Cell):
    def forward(self, x, state):
        state.memory = torch.tanh(state.memory + self.write(torch.cat([x, state.output], 1)))
        state.output = self.read(state.memory)
        state.memory = state.memory * 0.9
        return state


def train(cls):
    torch.manual_seed(0)
    cell = cls()
    state = cell.start(2)
    for x in torch.randn(3, 2, 3):
        state = cell(x, state)
    loss = state.output.square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in cell.parameters())]


def bad():
    return train(BadCell)


def good():
    return train(GoodCell)
