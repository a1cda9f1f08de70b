"""An engine wrapper allocates its output once and writes every result there, so earlier outputs change.

source: https://github.com/ROCm/torch_migraphx/pull/247
"""

import torch
from torch import nn

RAISES = "silent"


class EngineModule(nn.Module):
    """Wraps a frozen linear + ReLU program; outputs live in pre-allocated buffers keyed by batch size."""

    def __init__(self, program):
        super().__init__()
        self.weight_t = program.weight.detach().t().contiguous()
        self.bias = program.bias.detach()
        self._outputs = {}
        self.calls = torch.zeros((), dtype=torch.long)

    def _allocate(self, rows):
        if rows not in self._outputs:
            self._outputs[rows] = torch.empty(rows, self.weight_t.shape[1])
        return self._outputs[rows]

    def forward(self, x):
        self.calls += 1
        out = self._allocate(len(x))
        torch.addmm(self.bias, x, self.weight_t, out=out)  # HAZARD silent
        torch.clamp(out, min=0, out=out)  # HAZARD silent
        return out


class FreshEngineModule(EngineModule):
    def forward(self, x):
        self.calls += 1
        out = torch.empty(len(x), self.weight_t.shape[1])
        torch.addmm(self.bias, x, self.weight_t, out=out)
        torch.clamp(out, min=0, out=out)
        return out


class Siamese:
    def __init__(self, encoder):
        self.encoder = encoder

    @torch.no_grad()
    def distance(self, left, right):
        a = self.encoder(left)
        b = self.encoder(right)
        diff = a - b
        diff.pow_(2)
        return diff.sum(1).sqrt_()


def verify(engine_cls):
    torch.manual_seed(0)
    program = nn.Linear(4, 6)
    left, right = torch.randn(3, 4), torch.randn(3, 4)
    actual = Siamese(engine_cls(program)).distance(left, right)
    expected = Siamese(lambda x: torch.relu(program(x))).distance(left, right)
    return actual, expected


def bad():
    return verify(EngineModule)


def good():
    return verify(FreshEngineModule)
