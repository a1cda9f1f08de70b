# torch: raises
# found as: missed
import torch

def program():
    weight2 = torch.tensor([[1.0]], requires_grad=True)
    target = 4
    ctx = target
    z = weight2
    u = torch.logsumexp(z, dim=1)
    loss = u
    torch.Tensor.add_(u, ctx)
    loss.backward()
