import torch
from torch import nn


def fit(dataset, pictures):
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(inplace=True), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    error = net(pictures).squeeze(1)
    error -= dataset.redshift
    error.square().mean().backward()
    optimizer.step()
    return net
