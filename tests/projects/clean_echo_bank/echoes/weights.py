from contextlib import contextmanager

import torch


def follow(slow, fast, rate=0.1):
    for s, f in zip(slow.parameters(), fast.parameters()):
        s.data.mul_(1 - rate).add_(f.data, alpha=rate)


@contextmanager
def jittered(net, strength=0.01):
    """Noise on the weights, for a whole training step."""
    noise = [torch.randn_like(p).mul_(strength) for p in net.parameters()]
    for p, n in zip(net.parameters(), noise):
        p.data.add_(n)
    yield
    for p, n in zip(net.parameters(), noise):
        p.data.sub_(n)
