import torch
from torch import nn

import feed
from hooks import Clip, Ema, Meter


def emit(hooks, event, loss):
    for hook in hooks:
        function = getattr(hook, event, None)
        if function is not None:
            function(loss)


def train(data, source, size=2, steps=6):
    net = nn.Sequential(nn.Linear(data.size(1), 4), nn.LeakyReLU(0.1, inplace=True), nn.Linear(4, data.size(1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hooks = [Clip(net, 1.0), Ema(net), Meter()]
    for step, batch in enumerate(source(data, size)):
        if step == steps:
            break
        out = net(batch)
        loss = (out - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        emit(hooks, "after_backward", loss)
        optimizer.step()
        emit(hooks, "after_step", loss)
    return hooks[-1].mean


def first(data):
    batch = next(feed.prefetched(data, 2))
    net = nn.Linear(data.size(1), 1)
    net(batch).sum().backward()
    return batch
