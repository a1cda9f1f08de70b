# torch: raises
# found as: missed
import torch

def program():
    weight = torch.randn(4, 4).requires_grad_()
    u = weight.permute(1, 0)
    y = u.t().reshape(-1)
    hidden = y
    opt = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    loss = weight.sum()
    loss9 = hidden.pow(2).sum()
    loss.backward(retain_graph=True)
    opt.step()
    loss9.backward()
