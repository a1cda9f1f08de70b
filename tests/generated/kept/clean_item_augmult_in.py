# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program(flag, flag1):
    a = torch.randn(4, 4).requires_grad_()
    data = torch.eye(4)
    score = F.scaled_dot_product_attention(a, data, a)
    score[:,] *= 2.0
    loss = score.mean()
    loss.backward()
