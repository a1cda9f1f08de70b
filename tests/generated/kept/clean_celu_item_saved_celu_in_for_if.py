# torch: clean
# found as: false alarm
import torch
import torch.nn as nn
import torch.nn.functional as F

def program(flag, flag1):
    w = 4
    weight = nn.Parameter(torch.zeros(4))
    x = torch.empty(4, 4)
    for i in range(3):
        x[i] = weight
        try:
            if flag1:
                raise ValueError
            try:
                if flag1:
                    raise ValueError
            except ValueError:
                x = F.celu(x, inplace=True)
        except ValueError:
            ctx11 = w
    loss = x.sum()
    torch.autograd.backward(loss)
