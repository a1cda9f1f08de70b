"""Contrast with a bank of keys, done right: the momentum encoder goes first, the bank is copied, the optimizer comes last.

mechanism: clean; in-place bank behind clone(), .data writes before forward, context manager edits and restores around forward and backward, base trainer with hooks
"""
import torch

from echoes.trainer import EchoTrainer

RAISES = "nothing"


def good():
    torch.manual_seed(0)
    trainer = EchoTrainer(features=5, width=4, lr=0.1)
    before = [p.detach().clone() for p in trainer.slow.parameters()]
    for _ in range(3):
        pings = torch.randn(4, 5)
        trainer.fit_batch(pings)
    assert any((a != b).any() for a, b in zip(before, trainer.slow.parameters()))
    assert trainer.bank.at == 12 % len(trainer.bank.keys)
