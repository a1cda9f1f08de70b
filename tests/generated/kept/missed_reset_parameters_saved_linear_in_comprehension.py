# torch: raises
# found as: missed
import torch
import torch.nn as nn

def program(n):
    w = nn.Parameter(torch.randn(4, 4))
    parts = [w for k in range(n)]
    mix = torch.stack(parts)
    y = nn.Linear(4, 4)
    prob = y(mix)
    y.reset_parameters()
    loss = prob.mean()
    loss.backward()
