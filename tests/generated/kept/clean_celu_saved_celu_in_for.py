# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program():
    a = torch.rand(4, 4, requires_grad=True)
    z = a / 2.0
    xs = [z, z]
    for j, item in enumerate(xs):
        F.celu_(item)
        xs[1] = xs[1] + item
    loss = xs[1].sum()
    loss.backward()
