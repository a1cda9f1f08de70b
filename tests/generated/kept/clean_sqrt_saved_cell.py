# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program():
    scale2 = torch.randn(4, requires_grad=True)
    u = scale2 + scale2
    h = u.expand(4, 4)
    cell = nn.LSTM(4, 4)
    mix = cell(h)[0]
    loss = mix.sum()
    u.sqrt_()
    loss.backward()
