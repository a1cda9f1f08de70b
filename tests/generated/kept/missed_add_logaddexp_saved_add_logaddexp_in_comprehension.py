# torch: raises
# found as: missed
import torch

def program(n):
    w = torch.tensor([[1.0]], requires_grad=True)
    parts = [w for k in range(n)]
    hidden = torch.stack(parts)
    xs = [w, w, hidden]
    torch.Tensor.add_(xs[2], torch.logaddexp(xs[1], hidden))
    loss = hidden.sum()
    loss.backward()
