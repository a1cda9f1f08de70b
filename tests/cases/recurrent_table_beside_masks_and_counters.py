"""A recurrent net stores its states in a preallocated table and reads the previous row back from it.

The cell keeps the row it was given, and the next write to the table makes every row of it a newer version.
Beside it stand the look-alikes: a boolean mask, a numpy log, a list and int counters, all written in place.

source: written for this project
"""

import numpy as np
import torch
from torch import nn

RAISES = "modified by an inplace operation"


class TableRnn(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.cell = nn.GRUCell(size, size)

    def forward(self, inputs, mask):
        steps, batch, size = inputs.shape
        out = torch.zeros(steps, batch, size)
        out[0] = inputs[0]
        for t in range(1, steps):
            mask[t] &= mask[t - 1]
            h = self.cell(inputs[t], out[t - 1])
            out[t] = h  # HAZARD saved
        return out


class ListRnn(TableRnn):
    def forward(self, inputs, mask):
        steps = len(inputs)
        rows = [inputs[0]]
        for t in range(1, steps):
            mask[t] &= mask[t - 1]
            rows.append(self.cell(inputs[t], rows[t - 1]))
        out = torch.stack(rows)
        out *= 2  # nothing keeps the stacked copy
        return out


def train(net):
    torch.manual_seed(0)
    model = net(3)
    log, seen, sizes = np.zeros(2), 0, [0, 0]
    for epoch in range(2):
        inputs = torch.randn(5, 2, 3)
        mask = torch.ones(5, 2, dtype=torch.bool)
        mask[3, 0] = False
        out = model(inputs, mask)
        loss = out[mask].square().mean()
        loss.backward()
        log[epoch] = loss.item()
        log /= 2
        seen += len(inputs)
        sizes[epoch] += seen


def bad():
    train(TableRnn)


def good():
    train(ListRnn)
