# torch: raises
# found as: missed
import torch

def program(n):
    a = torch.randn(4, 4, requires_grad=True)
    parts = [a for k in range(n)]
    prob = torch.stack(parts)
    opt = torch.optim.SGD([a], lr=0.1, momentum=0.9)
    loss = prob.sum()
    loss4 = (a * a).mean()
    loss.backward(retain_graph=True)
    opt.step()
    loss4.backward()
