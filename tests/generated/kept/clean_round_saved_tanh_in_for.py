# torch: clean
# found as: false alarm
import torch

def program(flag):
    w = torch.randn(4, 4, requires_grad=True)
    data = torch.full((4, 4), 0.5)
    u = torch.zeros(4, 4)
    for i in range(4):
        u[i,] = w[i,]
    for i in range(3):
        match flag:
            case True:
                data = torch.tanh(u)
            case _:
                data.round_()
    loss = u.sum() + data.mean()
    torch.autograd.backward(loss)
