"""The in-place SiLU that an article recommends. Its forward pass is right and its backward pass raises."""

import torch
from torch import nn


def silu_broken(x):
    result = x.clone()
    torch.sigmoid_(x)
    x *= result  # TIP103: sigmoid_ saved its result, which is x
    return x


def silu_fixed(x):
    gate = torch.sigmoid(x)
    return x * gate


def train(silu):
    torch.manual_seed(0)
    up, down = nn.Linear(4, 16), nn.Linear(16, 1)
    down(silu(up(torch.randn(8, 4)))).mean().backward()


if __name__ == "__main__":
    train(silu_fixed)
    train(silu_broken)
