# torch: raises
# found as: missed
import torch

def program(flag):
    weight = torch.rand(4, 4, requires_grad=True)
    feat = torch.stack([weight])
    u13 = feat.abs()
    loss = u13.mean()
    torch.Tensor.add_(feat, 1.0)
    loss.backward()
