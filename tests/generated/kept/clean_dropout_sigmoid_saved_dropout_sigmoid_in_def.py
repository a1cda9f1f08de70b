# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program(flag):
    w = torch.randn(4, 4).requires_grad_()
    delta2 = nn.Dropout(0.5, inplace=True)
    delta2.eval()
    delta = delta2(torch.sigmoid(w))
    feat = delta

    def bump(s):
        return feat
    ctx5 = bump(2.0)
    loss = ctx5.mean()
    loss.backward()
