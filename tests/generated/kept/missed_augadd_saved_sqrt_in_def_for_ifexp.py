# torch: raises
# found as: missed
import torch

def fuse(y):
    u = y
    for delta in u:
        ctx = delta
    return ctx

def program(flag, flag1):
    w = torch.rand(4, 4, requires_grad=True)
    attn = w.clone()
    x = attn if flag else attn.sqrt()
    x += w
    r = fuse(x)
    loss = r.sum()
    loss.backward()
