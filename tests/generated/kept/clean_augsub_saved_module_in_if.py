# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program(flag, flag1):
    weight = nn.Parameter(torch.randn(4, 4))
    gate = torch.fmod(weight, 1.0)
    if flag:
        match flag1:
            case True:
                prob = 1.0
            case _:
                net = nn.Conv1d(4, 4, kernel_size=1)
                gate = net(gate)
    loss = gate.mean()
    gate -= gate
    loss.backward()
