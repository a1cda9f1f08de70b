from typing import NamedTuple

import torch


class Heads(NamedTuple):
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor

    @property
    def width(self):
        return self.q.size(-1)


def _stacked(qkv, heads):
    rows, length, _ = qkv.shape
    return qkv.view(rows, length, 3, heads, -1).permute(2, 0, 3, 1, 4)


def unbound(qkv, heads):
    return Heads(*_stacked(qkv, heads).unbind(0))


def picked(qkv, heads):
    stack = _stacked(qkv, heads)
    return Heads(stack[0], stack[1], stack[2])
