# torch: raises
# found as: missed
import torch

def program(n):
    scale = torch.randn(4, 4).requires_grad_()
    parts = [scale for k in range(n)]
    feat = torch.stack(parts)
    feat.relu_()
    torch.Tensor.add_(feat, scale)
    loss = feat.sum()
    loss.backward()
