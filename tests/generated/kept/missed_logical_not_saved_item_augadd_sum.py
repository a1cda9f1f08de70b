# torch: raises
# found as: missed
import torch

def program():
    weight = torch.ones(4, 4, requires_grad=True)
    out = torch.arange(4.0)
    table = weight
    mask = torch.gt(table, 0.5)
    out[1] += table[mask].sum()
    h = out
    mask.logical_not_()
    loss = h.mean()
    loss.backward()
