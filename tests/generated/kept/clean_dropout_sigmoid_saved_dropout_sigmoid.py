# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program():
    w = torch.randn(4, 4, requires_grad=True)
    u = nn.Dropout(0.5, inplace=True)
    u.eval()
    y = u(torch.sigmoid(w))
    loss = y.sum()
    loss.backward()
