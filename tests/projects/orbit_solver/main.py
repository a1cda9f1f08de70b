"""The stepper that the config names advances the state in place, while the learned field's layers keep the states they saw.

mechanism: factory with functools.partial(advance, inplace=True) in a config module, `if inplace` in the helper, default argument from config
"""
import torch

from orbits import config
from orbits.solver import Solver

RAISES = "modified by an inplace operation"


def train(**options):
    torch.manual_seed(0)
    solver = Solver(size=4, **options)
    optimizer = torch.optim.Adam(solver.parameters(), lr=1e-3)
    start, seen = torch.randn(3, 4), torch.randn(3, 4)
    loss = (solver(start, steps=3) - seen).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bad():
    train()


def good():
    train(stepper=config.EXACT)
