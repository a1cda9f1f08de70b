# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program(flag):
    a = torch.tensor([[1.0, 2.0, 0.5, 1.5]] * 4, requires_grad=True)
    scale = torch.tensor([[1.0, 2.0, 0.5, 1.5]] * 4, requires_grad=True)
    gate = scale.detach()
    x = F.scaled_dot_product_attention(a, scale, torch.stack([a]))
    attn = x
    gate.t_()
    loss = attn.sum()
    loss.backward()
