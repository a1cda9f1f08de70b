# torch: raises
# found as: missed
import torch
import torch.nn as nn
import torch.nn.functional as F

def tool(a, b):
    yield a

def program():
    scale = nn.Parameter(torch.randn(4, 4))
    u = torch.tanh(scale)
    h = u
    r = tool(u, h).__next__()
    fn = lambda v: F.relu(v, inplace=True)
    r12 = fn(r)
    loss = r12.sum()
    loss.backward()
