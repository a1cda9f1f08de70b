# torch: clean
# found as: false alarm
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):

    def __init__(self, residual):
        super().__init__()
        self.residual = residual

    def forward(self, x):
        if self.residual:
            match self.residual:
                case True:
                    pass
                case _:
                    x.rsqrt_()

def program(flag):
    a = nn.Parameter(torch.randn(4, 4))
    idx = torch.randint(0, 4, (4, 4))
    delta = a.take_along_dim(idx, 1)
    cache = {'a': a, 'b': delta}
    model = Net(flag)
    r = model(cache['b'])
    loss = delta.mean()
    cache['b'] = F.hardtanh(cache['b'], inplace=True)
    torch.autograd.backward(loss)
