from .encode import Encode
from .stages import jitter, jittered


def losses(batches, net: Encode):
    """For a loop elsewhere."""
    for h in jittered(net(batches)):
        yield h.mean()


def rough_losses(batches, net: Encode):
    for h in jitter(net(batches)):  # SITE[a]
        yield h.mean()
