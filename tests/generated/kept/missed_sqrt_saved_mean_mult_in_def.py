# torch: raises
# found as: missed
import torch
import torch.nn as nn
import torch.nn.functional as F

def update(hidden, x, feat):
    return (x, hidden)

def program(n):
    scale = nn.Parameter(torch.randn(4, 4))
    z = torch.atan2(scale, scale)
    mix = z
    mix = F.dropout(mix, inplace=True)
    h = 2.0
    r, r18 = update(scale, z, h)
    loss = (r * r).mean()
    mix.sqrt_()
    loss.backward()
