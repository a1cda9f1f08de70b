# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program():
    weight = torch.ones(4, 4, requires_grad=True)
    u = F.scaled_dot_product_attention(weight, torch.outer(weight[0], weight[1]), weight)
    idx = torch.randint(0, 4, (4,))
    u[idx] += weight
    score = u.mean()
    loss = score
    loss.backward()
