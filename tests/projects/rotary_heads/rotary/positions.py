import torch


def angles(length, width, base=100.0):
    rates = base ** (-torch.arange(0, width, 2) / width)
    table = torch.arange(length)[:, None] * rates
    return table.cos().repeat(1, 2), table.sin().repeat(1, 2)


def _half_turn(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def rotate(x):
    cos, sin = angles(x.size(-2), x.size(-1))
    turned = _half_turn(x) * sin
    x *= cos  # HAZARD[a] view
    x += turned  # HAZARD[a] view
    return x
