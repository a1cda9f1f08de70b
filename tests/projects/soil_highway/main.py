"""INPLACE = True in settings.py lets the dropout of the gate write over what sigmoid kept.

mechanism: constant flag in a settings module, `import soil.settings as S`, functional dropout(inplace=flag)
"""
import torch

from soil.net import MoistureNet
from soil.units import GatedUnit, QuietGatedUnit

RAISES = "modified by an inplace operation"


def train(unit):
    torch.manual_seed(0)
    net = MoistureNet(bands=4, unit=unit)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        loss = net.loss(torch.rand(6, 4), torch.rand(6, 1))
        loss.backward()
        optimizer.step()


def bad():
    train(GatedUnit)


def good():
    train(QuietGatedUnit)
