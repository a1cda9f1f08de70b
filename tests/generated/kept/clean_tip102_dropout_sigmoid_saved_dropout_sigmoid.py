# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program():
    scale = torch.randn(4, 4, requires_grad=True)
    h = nn.Dropout(0.5, inplace=True)
    h.eval()
    u = h(torch.sigmoid(scale))
    loss = u.sum()
    loss.backward()
