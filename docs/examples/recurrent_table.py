"""A recurrent network that keeps its states in a preallocated table and reads the previous row back from it."""

import torch
from torch import nn


class TableBroken(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.cell = nn.GRUCell(size, size)

    def forward(self, inputs):
        out = torch.zeros_like(inputs)
        out[0] = inputs[0]
        for t in range(1, len(inputs)):
            out[t] = self.cell(inputs[t], out[t - 1])  # TIP104: the cell saved row t - 1, a view of the table
        return out


class TableFixed(TableBroken):
    def forward(self, inputs):
        rows = [inputs[0]]
        for t in range(1, len(inputs)):
            rows.append(self.cell(inputs[t], rows[t - 1]))
        return torch.stack(rows)


def train(table):
    torch.manual_seed(0)
    table(4)(torch.randn(6, 2, 4)).mean().backward()


if __name__ == "__main__":
    train(TableFixed)
    train(TableBroken)
