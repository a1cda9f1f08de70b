import torch


class _Absorb(torch.autograd.Function):
    """Damps the borders, in place, as it tells autograd."""

    @staticmethod
    def forward(ctx, field, mask):
        ctx.mark_dirty(field)
        ctx.save_for_backward(mask)
        field.mul_(mask)
        return field

    @staticmethod
    def backward(ctx, grad):
        mask, = ctx.saved_tensors
        return grad * mask, None


def absorb_(field, mask):
    return _Absorb.apply(field, mask)


def border_mask(points, width=2):
    mask = torch.ones(points)
    ramp = torch.linspace(0.5, 1, width)
    mask[:width] = ramp
    mask[-width:].copy_(ramp.flip(0))
    return mask
