# torch: raises
# found as: missed
import torch
import torch.nn as nn

def program():
    scale = nn.Parameter(torch.randn(4, 4))
    gate = scale.detach()
    loss7 = (scale * scale).mean()
    torch.Tensor.add_(gate, scale)
    loss7.backward()
