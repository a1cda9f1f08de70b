"""Stands for a package whose operators the linter cannot read, as it is compiled."""

import torch


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.sigmoid(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * result * (1 - result)


def gate(x):
    return _Gate.apply(x)
