"""The in-place helpers look like those of the faulty projects, but flags, __all__ and fallbacks choose the copying ones.

mechanism: clean; settings.INPLACE = False, star import with __all__ that leaves the in-place namesake out, ImportError fallback, partial
"""
import torch

from bathy.config import build
from bathy.fallbacks import BACKEND

RAISES = "nothing"


def good():
    torch.manual_seed(0)
    assert BACKEND == "torch"
    net = build()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    soundings = torch.randn(3, 5, 4)
    for _ in range(2):
        optimizer.zero_grad()
        net(soundings).square().mean().backward()
        optimizer.step()
