"""A mask is looked up by its name in its own module.

mechanism: getattr(sys.modules[__name__], name)
"""
import torch

from whisper.frontend import Frontend

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    Frontend("drop_low")(torch.randn(2, 10)).backward()


def good():
    torch.manual_seed(0)
    Frontend("keep")(torch.randn(2, 10)).backward()
