# torch: raises
# found as: missed
import torch
import torch.nn.functional as F

def program(n):
    scale = torch.randn(4, 4).requires_grad_()
    parts = [scale for k in range(n)]
    gate = torch.stack(parts)
    torch.Tensor.add_(gate, F.mse_loss(gate, gate, reduction='none'))
    loss = gate.sum()
    loss.backward()
