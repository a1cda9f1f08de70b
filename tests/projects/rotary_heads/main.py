"""Queries and keys come as a NamedTuple of unbind() views from another file; the rotation works on its argument.

mechanism: NamedTuple carries views across files, rotation helper of a third file in place, kind view
"""
import torch

from rotary.layer import PickedAttention, UnboundAttention

RAISES = "is a view and is being modified inplace"


def train(cls):
    torch.manual_seed(0)
    layer = cls(width=8, heads=2)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    notes = torch.randn(2, 5, 8)
    out = layer(notes)
    optimizer.zero_grad()
    (out[:, :-1] - notes[:, 1:]).square().mean().backward()
    optimizer.step()


def bad():
    train(UnboundAttention)


def good():
    train(PickedAttention)
