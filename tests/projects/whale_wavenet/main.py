"""The skip activation, a class named by config.py, works in place on the filter that tanh and the gate's product kept.

mechanism: act_layer= as class from a config module, the class subclasses an nn activation and passes inplace=True to super()
"""
import torch

from wavenet.config import Config, SafeConfig
from wavenet.stack import Stack

RAISES = "modified by an inplace operation"


def train(cfg):
    torch.manual_seed(0)
    net = Stack(cfg)
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    calls = torch.randn(2, 1, 20)
    optimizer.zero_grad()
    loss = (net(calls)[..., :-1] - calls[..., 1:]).abs().mean()
    loss.backward()
    optimizer.step()


def bad():
    train(Config)


def good():
    train(SafeConfig)
