# torch: raises
# found as: missed
import torch
import torch.nn as nn

def program():
    w = torch.ones(4, 4, requires_grad=True)
    feat4 = nn.Linear(4, 4)
    feat = feat4(w)
    feat4.reset_parameters()
    loss = feat.sum()
    loss.backward()
