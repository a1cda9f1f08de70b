# torch: clean
# found as: false alarm
import torch

def program(n):
    w2 = torch.rand(4, 4, requires_grad=True)
    parts = [w2 for k in range(n)]
    delta = torch.stack(parts)
    if len(parts) > 2:
        if n > 2:
            delta = torch.mul(delta, w2)
    loss = delta.mean()
    delta += w2
    loss.backward()
