# torch: raises
# found as: missed
import torch
import torch.nn.functional as F

def program():
    scale = torch.rand(4, 4, requires_grad=True)
    attn = scale
    score = torch.outer(attn[0], attn[1])
    score.relu_()
    with torch.no_grad():
        score = F.dropout(score, inplace=True)
    loss = score.mean()
    loss.backward()
