"""A hook keeps the result of every layer by its name, and `nn.ReLU(inplace=True)` overwrites that of the layer before.

mechanism: one memory under two keys of a dictionary that hooks of another file fill
"""
import torch

from model import Net
from probe import Recorder

RAISES = "silent"


def recorded(copy):
    torch.manual_seed(0)
    net, recorder = Net(), Recorder(copy)
    recorder.attach(net)
    x = torch.randn(1, 2, 3)
    net(x)  # SITE[a]
    return recorder.results["conv"], net.conv(x)


def bad():
    return recorded(False)


def good():
    torch.manual_seed(0)
    net, recorder = Net(), Recorder(True)
    recorder.attach(net)
    x = torch.randn(1, 2, 3)
    net(x)
    assert torch.equal(recorder.results["conv"].relu(), recorder.results["act"])
