# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program(n, flag):
    weight = torch.randn(4, 4).requires_grad_()
    parts = [weight for k in range(n)]
    y = torch.stack(parts).sum(0)
    y = F.scaled_dot_product_attention(y, y, y)
    idx = torch.randint(0, 4, (4, 4))
    y.scatter_add_(1, idx, weight)
    loss = y.mean()
    loss.backward()
