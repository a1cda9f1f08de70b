# torch: clean
# found as: false alarm
import torch

def program(flag):
    a = torch.ones(4, 4, requires_grad=True)
    data = torch.rand(4, 4)
    cache = {'a': a, 'b': data}
    data = cache['b'] / cache['a']
    data = [data][0] if not flag else cache['b']
    feat, z = torch.stack([a, data])
    attn = ctx = feat
    if flag:
        cache['b'].sin_()
    loss = attn.sum()
    torch.autograd.backward(loss)
