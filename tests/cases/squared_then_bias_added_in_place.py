"""The textbook case: a power keeps its base, and the base is then shifted in place.

`c = b + 2` in the good version keeps nothing, so the same `b += 1` is legal there.

source: written for this project
"""

import torch

RAISES = "modified by an inplace operation"


def bad():
    a = torch.ones(3, requires_grad=True)
    b = 2 * a
    c = b**2
    b += 1  # HAZARD saved
    c.sum().backward()


def good():
    a = torch.ones(3, requires_grad=True)
    b = 2 * a
    c = b + 2
    b += 1
    c.sum().backward()
    assert a.grad.tolist() == [2, 2, 2]
