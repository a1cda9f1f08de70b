import torch


class _Shrink(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        ctx.threshold = threshold
        size = x.abs()
        size -= threshold
        return size.clamp_(min=0).mul_(x.sign())

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (x.abs() > ctx.threshold), None


def soft_threshold(x, threshold=0.1):
    return _Shrink.apply(x, threshold)
