# torch: clean
# found as: false alarm
import torch

def program(n, flag):
    scale = torch.rand(4, 4, requires_grad=True)
    parts = [scale for k in range(n)]
    delta = torch.stack(parts).sum(0)
    if len(parts) > 2:
        if flag:
            delta = delta * delta
    delta8 = [scale][0]
    idx9 = torch.randperm(4)
    delta[idx9] += delta8
    loss = delta.mean()
    loss.backward()
