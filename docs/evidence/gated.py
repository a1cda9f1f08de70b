"""Overwrites what an operator of another package saves."""

import own_ops
import torch


def scaled(w: torch.nn.Parameter):
    h = own_ops.gate(w)
    h *= 2
    return h


try:
    scaled(torch.nn.Parameter(torch.zeros(3))).sum().backward()
except RuntimeError as error:
    print(f"RuntimeError: {str(error).partition(':')[0]}")
