"""Under bf16 autocast softmax runs in fp32 and saves its result, which a floor is added to in place.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def mix(self, probs, x):
        return sum(probs[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


class BadRouter(Router):
    def forward(self, x):
        probs = torch.softmax(self.gate(x), dim=-1)
        probs += 1e-2  # HAZARD saved
        return self.mix(probs, x)


class GoodRouter(Router):
    def forward(self, x):
        probs = torch.softmax(self.gate(x), dim=-1)
        probs = probs + 1e-2
        return self.mix(probs, x)


def train(cls):
    torch.manual_seed(0)
    net = cls()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(torch.randn(5, 4))
    loss = out.float().square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadRouter)


def good():
    return train(GoodRouter)
