# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program(flag):
    weight = torch.randn(4, 4)
    scale = torch.tensor([[1.0]] * 4, requires_grad=True)
    attn = scale
    u = F.scaled_dot_product_attention(attn, attn, weight)
    ctx = attn
    idx = torch.argsort(ctx)
    u[idx] = 0.0
    loss = u.mean()
    loss.backward()
