# torch: raises
# found as: missed
import torch
import torch.nn as nn

def tool(a, b):
    yield torch.tanh(a)

def update(x):
    x.mul_(0.5)
    return x

def program():
    weight = nn.Parameter(torch.randn(4, 4))
    prob = weight
    gate = 2.0
    r = tool(prob, gate).__next__()
    r14 = update(r)
    loss = r14.sum()
    loss.backward()
