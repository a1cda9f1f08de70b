# torch: clean
# found as: false alarm
import torch

def program(flag):
    weight = torch.randn(4, 4).requires_grad_()
    delta = weight.asinh()
    score = delta * (delta > 0)
    delta.relu_()
    if flag:
        gate = weight
    else:
        idx = torch.randint(0, 4, (4, 4))
        delta.scatter_(1, idx, score)
        delta = score
    loss = delta.mean()
    torch.autograd.backward(loss)
