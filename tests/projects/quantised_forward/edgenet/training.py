from torch import nn
import torch.nn.functional as F


def keyword_net(size=6, words=3):
    return nn.Sequential(nn.Linear(size, 8), nn.ReLU(inplace=True), nn.Linear(8, words))


def backward_outside(net, clips, words, rounded):
    with rounded:  # SITE[a]
        loss = F.cross_entropy(net(clips), words)
    loss.backward()
    return loss.item()


def backward_inside(net, clips, words, rounded):
    with rounded:
        loss = F.cross_entropy(net(clips), words)
        loss.backward()
    return loss.item()
