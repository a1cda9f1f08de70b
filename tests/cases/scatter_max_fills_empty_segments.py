"""Max pooling over segments replaces the identity of empty segments in the result that scatter_reduce saved.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def pool(src, index, size):
    out = src.new_full((size, src.size(1)), -1e30)
    return out.scatter_reduce(0, index.unsqueeze(1).expand_as(src), src, reduce="amax")


def bad_segment_max(src, index, size):
    out = pool(src, index, size)
    out[out < -1e29] = 0  # HAZARD saved
    return out


def good_segment_max(src, index, size):
    out = pool(src, index, size)
    return out.masked_fill(out < -1e29, 0)


class PointNet(nn.Module):
    def __init__(self, segment_max):
        super().__init__()
        self.segment_max = segment_max
        self.local = nn.Sequential(nn.Linear(3, 8), nn.ReLU(inplace=True))
        self.head = nn.Linear(8, 2)

    def forward(self, points, batch):
        return self.head(self.segment_max(self.local(points), batch, 4))


def train(fn):
    torch.manual_seed(0)
    net = PointNet(fn)
    logits = net(torch.randn(7, 3), torch.tensor([0, 0, 1, 1, 1, 3, 3]))
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 0, 1]))
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(bad_segment_max)


def good():
    return train(good_segment_max)
