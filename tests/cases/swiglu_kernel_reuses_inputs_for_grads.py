"""Fused gated activation stores its input gradients into its own inputs; exp/sigmoid upstream saved those tensors.

source: https://github.com/linkedin/Liger-Kernel/issues/254
"""

import numpy as np
import torch
from torch import nn

RAISES = "silent"


def kernel_backward(dy, a, b):
    """Stand-in for the compiled kernel: works on raw host memory, gradients land where the inputs were."""
    sig = 1 / (1 + np.exp(-a))
    silu = a * sig
    da = dy * b * (silu * (1 - sig) + sig)
    b[...] = dy * silu  # HAZARD silent
    a[...] = da  # HAZARD silent
    return a, b


def kernel_backward_fresh(dy, a, b):
    sig = 1 / (1 + np.exp(-a))
    silu = a * sig
    grad_a, grad_b = np.empty_like(a), np.empty_like(b)
    np.multiply(dy, silu, out=grad_b)
    np.multiply(dy * b, silu * (1 - sig) + sig, out=grad_a)
    return grad_a, grad_b


def build(backward_kernel):
    class GatedSilu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return nn.functional.silu(a) * b

        @staticmethod
        def backward(ctx, dy):
            a, b = ctx.saved_tensors
            da, db = backward_kernel(dy.numpy(), a.detach().numpy(), b.detach().numpy())
            return torch.from_numpy(da), torch.from_numpy(db)

    return GatedSilu.apply


class GatedMlp(nn.Module):
    def __init__(self, act, dim=4, hidden=6):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(dim, hidden), nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.act = act

    def forward(self, x):
        gate = torch.exp(self.gate(x).clamp(max=2.0))
        up = torch.sigmoid(self.up(x))
        return self.down(self.act(gate, up))


def gradient(act):
    torch.manual_seed(0)
    mlp = GatedMlp(act)
    x = torch.randn(5, 4)
    x[0] = 0
    mlp(x).square().sum().backward()
    return torch.cat([mlp.gate.weight.grad.flatten(), mlp.up.weight.grad.flatten()])


def plain(a, b):
    return nn.functional.silu(a) * b


def bad():
    return gradient(build(kernel_backward)), gradient(plain)


def good():
    return gradient(build(kernel_backward_fresh)), gradient(plain)
