"""A stop is looked up by its name in what a star import brings.

mechanism: globals()[name] after a star import with __all__
"""
import torch

from lens.system import LensSystem

RAISES = "modified by an inplace operation"


def bad():
    LensSystem()(torch.rand(2, 8)).backward()


def good():
    LensSystem("Pupil")(torch.rand(2, 8)).backward()
