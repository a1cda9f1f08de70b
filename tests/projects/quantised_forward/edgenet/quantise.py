from contextlib import contextmanager

from .rounding import rounded


def round_weights(net, bits):
    for p in net.parameters():
        p.data.copy_(rounded(p, bits))


@contextmanager
def quantised(net, bits=8):
    """The network with rounded weights."""
    full = [p.detach().clone() for p in net.parameters()]
    round_weights(net, bits)
    try:
        yield net
    finally:
        for p, w in zip(net.parameters(), full):
            p.data.copy_(w)  # HAZARD[a] silent
