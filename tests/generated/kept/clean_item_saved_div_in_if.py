# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program(flag, flag1):
    w = nn.Parameter(torch.zeros(4))
    u = 1.0 / w
    if flag:
        pass
    else:
        buf = torch.tensor(0.5)
        mix = buf
        match flag1:
            case True:
                score = buf
            case _:
                u = mix / u
    u[u > 0] = 0.0
    loss = u.sum()
    loss.backward()
