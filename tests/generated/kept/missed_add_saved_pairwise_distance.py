# torch: raises
# found as: missed
import torch
import torch.nn.functional as F

def program(flag):
    scale = torch.rand(4, 4, requires_grad=True)
    a = 4
    mix = scale
    pair = (a, a, a)
    mix10 = F.pairwise_distance(scale, mix)
    torch.Tensor.add_(mix10, pair[2])
    loss = mix10.sum()
    loss.backward()
