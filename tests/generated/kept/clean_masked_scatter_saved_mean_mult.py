# torch: clean
# found as: false alarm
import torch

def program():
    a = torch.randn(4, 4)
    weight = torch.randn(4, 4, requires_grad=True)
    attn = weight.to(torch.float32, copy=True)
    mix = a
    loss = (weight * weight).mean()
    mask = mix > 0
    attn.masked_scatter_(mask, mix)
    loss.backward()
