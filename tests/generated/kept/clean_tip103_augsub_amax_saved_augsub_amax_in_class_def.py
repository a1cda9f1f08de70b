# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

class Net(nn.Module):

    def forward(self, x):
        match self:
            case True:
                pass
            case _:
                x -= x.amax(1, keepdim=True)
        return x

def program(flag):
    w = torch.ones(4, 4, requires_grad=True)
    xs = [w, w]
    y = xs[1]
    loss = y.sum()
    loss.backward()
