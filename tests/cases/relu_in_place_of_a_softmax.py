"""F.relu_ on the result of softmax: softmax keeps its result, and relu_ overwrites it without a name for it ever being used.

The good version applies relu_ to the scaled copy, which no operation keeps.

source: written for this project
"""

import torch
import torch.nn.functional as F

RAISES = "modified by an inplace operation"


def bad():
    a = torch.randn(6, requires_grad=True)
    attention = F.relu_(torch.softmax(a, dim=0))  # HAZARD saved
    (attention * torch.arange(6.0)).sum().backward()


def good():
    a = torch.randn(6, requires_grad=True)
    attention = F.relu_(torch.softmax(a, dim=0) - 0.1)
    (attention * torch.arange(6.0)).sum().backward()
