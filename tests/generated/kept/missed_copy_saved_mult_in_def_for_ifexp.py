# torch: raises
# found as: missed
import torch

def update(y, prob):
    gate = y
    for ctx14 in gate:
        prob13 = ctx14
    return prob13

def program(flag):
    weight = torch.randn(4, 4, requires_grad=True)
    data = torch.zeros(())
    attn = weight if flag else weight * data
    r = update(attn, weight)
    loss = r.mean()
    data.copy_(data)
    loss.backward()
