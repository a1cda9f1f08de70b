# torch: clean
# found as: false alarm
import torch

def program(flag, flag1):
    weight = torch.linspace(0.1, 1.0, 4, requires_grad=True)
    buf = torch.ones(4, 4)
    gate = torch.mv(buf, weight)
    match flag1:
        case True:
            buf.sin_()
        case _:
            hidden = 0
    gate = weight if flag1 else gate
    loss = gate.sum()
    loss.backward()
