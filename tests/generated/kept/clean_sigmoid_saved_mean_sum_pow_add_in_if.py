# torch: clean
# found as: false alarm
import torch

def program(flag):
    a = torch.ones(4, 4, requires_grad=True)
    a2 = torch.randn(4, requires_grad=True)
    out = torch.rand(4, 4)
    xs = [a2, a2]
    match flag:
        case True:
            if not flag:
                out[...] = a
        case _:
            y = out
    loss = xs[1].mean() + out.pow(2).sum()
    out.sigmoid_()
    loss.backward()
