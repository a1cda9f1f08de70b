import torch


class _Sign(torch.autograd.Function):
    """Straight through: keeps nothing."""

    @staticmethod
    def forward(ctx, x):
        return torch.where(x > 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        return grad


binary_sign = _Sign.apply
