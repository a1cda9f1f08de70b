"""Rotary embedding writes the even half before the odd half reads it through a view.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "silent"


def angles(t, half):
    freq = torch.arange(t).unsqueeze(1) / 10 ** torch.arange(half)
    return freq.cos(), freq.sin()


def bad_rotate(x):
    cos, sin = angles(x.size(-2), x.size(-1) // 2)
    even, odd = x[..., ::2], x[..., 1::2]
    x[..., ::2] = even * cos - odd * sin  # HAZARD silent
    x[..., 1::2] = even * sin + odd * cos
    return x


def good_rotate(x):
    cos, sin = angles(x.size(-2), x.size(-1) // 2)
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def scores(rotate):
    torch.manual_seed(0)
    q, k = nn.Linear(4, 4), nn.Linear(4, 4)
    x = torch.randn(2, 3, 4)
    return (rotate(q(x)) @ rotate(k(x)).transpose(1, 2)).detach()


def bad():
    return scores(bad_rotate), scores(good_rotate)


def good():
    return scores(good_rotate), scores(good_rotate)
