"""Batches of an array that is filled again: all of them have the last values.

mechanism: a tensor over an array of another file's object, collected in a list
"""
import torch

from collect import collect

RAISES = "silent"


def bad():
    batches = collect(3, copy=False)
    return batches[0], torch.tensor([[0.0, 0.0], [1.0, 1.0]])


def good():
    assert collect(3, copy=True)[0].tolist() == [[0.0, 0.0], [1.0, 1.0]]
