"""In-place SiLU as an article recommends it: sigmoid_ keeps its result in x, and `x *= result` overwrites it.

The good version keeps the sigmoid in a tensor of its own. What `x *= gate` needs of the old x, PyTorch copies.

source: the "memory-saving" SiLU that an article recommends
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def silu_recipe(x):
    result = x.clone()
    torch.sigmoid_(x)
    x *= result  # HAZARD saved
    return x


def silu(x):
    gate = torch.sigmoid(x)
    x = x * gate
    return x


class Mlp(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


def train(activation):
    torch.manual_seed(0)
    model = Mlp(activation)
    model(torch.randn(5, 4)).square().mean().backward()
    return model.up.weight.grad


def bad():
    train(silu_recipe)


def good():
    assert torch.allclose(train(silu), train(nn.functional.silu))
