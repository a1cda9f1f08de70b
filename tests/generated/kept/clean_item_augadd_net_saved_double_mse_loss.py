# torch: clean
# found as: false alarm
import torch
import torch.nn as nn
import torch.nn.functional as F

def program():
    w = torch.rand(4, 4, requires_grad=True)
    weight = torch.ones(4, 4, requires_grad=True)
    xs = [weight, weight.double(), F.mse_loss(weight, w, reduction='none')]
    net = nn.LeakyReLU(0.1, inplace=True)
    xs[2] += net(xs[1])
    loss = xs[2].mean()
    loss.backward()
