# torch: raises
# ruff: noqa
import torch


def program():
    a = torch.ones(4, 4, requires_grad=True)
    feat = a.detach()
    idx = torch.randint(0, 4, (4, 4))
    torch.Tensor.add_(feat, torch.gather(a, 1, idx))
    loss = feat.sum()
    loss.backward()
