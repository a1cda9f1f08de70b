# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program(n):
    scale = torch.tensor([[1.0]], requires_grad=True)
    h = scale
    h3 = 4
    for _ in range(n):
        h3 += scale
        F.relu(h3, inplace=True)
    h3 = h if n > 2 else h3
    loss = h3
    loss.backward()
