# torch: clean
# found as: false alarm
import torch

def program(n, flag):
    a = torch.ones(4, 4, requires_grad=True)
    w = torch.rand(4, 4, requires_grad=True)
    parts = [a for k in range(n)]
    score = torch.stack(parts)
    if len(parts) > 2:
        if flag:
            u = a
        else:
            score = torch.stack([torch.lerp(score, a, w)])
    score.abs_()
    loss = score.sum()
    loss.backward()
