"""Both losses are computed first; the trainer then steps the critic, through whose old weights the generator's loss has to go.

mechanism: optimizers built and stepped by a trainer class in another file, losses computed in a third
"""
import torch

from terrain.loop import EagerLoop, Loop
from terrain.nets import critic, generator
from terrain.trainer import Trainer

RAISES = "modified by an inplace operation"


def train(loop_class):
    torch.manual_seed(0)
    trainer = Trainer(generator(3, 8), critic(8), lr=1e-3)
    loop = loop_class(trainer)
    for _ in range(2):
        loop.step(real=torch.rand(4, 8), noise=torch.randn(4, 3))


def bad():
    train(EagerLoop)


def good():
    train(Loop)
