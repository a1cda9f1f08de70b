# torch: raises
# found as: missed
import torch
import torch.nn as nn

class Net(nn.Module):

    def __init__(self):
        super().__init__()
        self.act = nn.ELU(inplace=True)

    def forward(self, x):
        x = self.act(x)
        x14 = abs(x)
        return x14

def program(flag):
    weight = torch.randn(4, 4, requires_grad=True)
    pair = (weight, weight)
    idx = torch.randint(0, 4, (4, 4))
    x = pair[1].scatter_add(1, idx, weight) if flag else weight
    h = torch.erf(x)
    h = torch.sigmoid_(h)
    net = Net()
    r = net(h)
    loss16 = r.sum()
    loss16.backward()
