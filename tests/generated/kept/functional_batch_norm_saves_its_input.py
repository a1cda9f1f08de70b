# torch: raises
# ruff: noqa
import torch
import torch.nn.functional as F


def program(n):
    scale = torch.randn(4, 4, requires_grad=True)
    parts = [scale for k in range(n)]
    x = torch.stack(parts)
    x6 = x
    prob = F.batch_norm(x6, None, None, training=True)
    loss = prob.mean()
    x6.add_(1.0)
    loss.backward()
