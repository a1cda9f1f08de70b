"""Augmentations are plugins, loaded by name; the noise plugin adds to the tanh that backward needs.

mechanism: importlib.import_module with a literal relative name, the module is passed on as an object
"""
import torch

from speech.net import Encoder

RAISES = "modified by an inplace operation"


def run(careful):
    torch.manual_seed(0)
    Encoder(4, careful)(torch.randn(3, 4)).sum().backward()


def bad():
    run(careful=False)


def good():
    run(careful=True)
