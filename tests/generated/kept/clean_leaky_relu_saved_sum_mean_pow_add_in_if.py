# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    target = torch.full((4, 4), 0.5)
    if flag:
        target = w
    x = target
    prob, u = [w, target]
    match flag:
        case True:
            target = F.linear(w, prob)
        case _:
            pass
    loss = x.pow(2).sum() + prob.mean()
    target = F.leaky_relu(target, inplace=True)
    loss.backward()
