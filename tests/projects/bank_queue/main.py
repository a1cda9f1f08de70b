"""mechanism: the queue of a memory bank in another file is filled after it was multiplied"""
import torch

from bank.model import Contrast

RAISES = "modified by an inplace operation"


def step(early):
    torch.manual_seed(0)
    net = Contrast()
    loss = net(torch.randn(2, 4), early)
    loss.backward()


def bad():
    step(True)


def good():
    step(False)
