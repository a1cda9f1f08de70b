# torch: raises
# found as: missed
import torch

def program(flag):
    weight = torch.randn(4, requires_grad=True)
    h = torch.relu(weight)
    torch.Tensor.add_(h, weight)
    loss = h.sum()
    loss.backward()
