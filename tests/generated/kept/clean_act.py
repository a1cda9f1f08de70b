# torch: clean
# found as: false alarm
import torch
import torch.nn as nn
import torch.nn.functional as F

def program(flag):
    weight = torch.rand(4, 4, requires_grad=True)
    x = torch.empty(4, 4)
    ctx = F.scaled_dot_product_attention(x, x, weight)
    act = nn.ReLU6(inplace=True)
    x = act(x)
    loss = ctx.sum()
    loss.backward()
