"""A factory is bound to a module, as in a config parser.

mechanism: functools.partial(make, module), getattr(module, name)
"""
import torch

from flow.train import Flow

RAISES = "modified by an inplace operation"


def bad():
    Flow("squash", "normal").nll(torch.rand(3, 4)).backward()


def good():
    Flow("affine", "normal").nll(torch.rand(3, 4)).backward()
