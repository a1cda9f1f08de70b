# torch: raises
# found as: missed
import torch
import torch.nn as nn

def program():
    lin = nn.Conv1d(4, 4, 3, padding=1)
    state = torch.zeros(4, 4)
    h = lin(state)
    ctx = torch.div(h, h)
    torch.Tensor.add_(h, ctx)
    loss = ctx.sum()
    loss.backward(retain_graph=True)
