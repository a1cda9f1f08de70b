# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program(n):
    w = torch.ones(4, 4, requires_grad=True)
    parts = [w for k in range(n)]
    score = torch.stack(parts)
    delta = nn.Dropout(0.5, inplace=True)
    delta.eval()
    ctx = delta(torch.sigmoid(score))
    loss = ctx.sum()
    loss.backward()
