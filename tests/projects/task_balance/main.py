"""The balanced trainer updates the task weights in a hook that the base trainer calls between forward and backward.

mechanism: base trainer with template methods in another file, optimizer stepped in the subclass's override
"""
import torch

from tasks.balanced import BalancedTrainer, LateBalancedTrainer
from tasks.model import RoadNet

RAISES = "modified by an inplace operation"


def train(trainer_class):
    torch.manual_seed(0)
    trainer = trainer_class(RoadNet(features=6), lr=0.05)
    for _ in range(2):
        batch = {"x": torch.randn(4, 6), "depth": torch.rand(4, 1), "lane": torch.randint(0, 3, (4,))}
        trainer.fit_batch(batch)


def bad():
    train(BalancedTrainer)


def good():
    train(LateBalancedTrainer)
