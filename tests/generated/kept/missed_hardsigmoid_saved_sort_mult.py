# torch: raises
# found as: missed
import torch
import torch.nn as nn
import torch.nn.functional as F

def program(flag):
    idx = torch.arange(4)
    mha = nn.Embedding(4, 4)
    score = mha(idx)
    try:
        x = (score * score).sort(dim=1).values
        raise ValueError
    except ValueError:
        score = F.hardsigmoid(score, inplace=True)
    loss = x.sum()
    loss.backward()
