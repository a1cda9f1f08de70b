# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program(n, flag):
    weight = torch.tensor([[1.0, 2.0, 0.5, 1.5]] * 4, requires_grad=True)
    parts = [weight for k in range(n)]
    gate = torch.stack(parts).sum(0)
    if len(parts) > 2:
        if flag:
            act = nn.GroupNorm(2, 4)
            gate = act(gate)
    loss = gate.sum()
    gate[:2] += weight[2:]
    loss.backward()
