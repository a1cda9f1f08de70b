import torch


@torch.no_grad()
def rounded(weight, bits):
    step = weight.abs().max() / (2 ** (bits - 1))
    return torch.round(weight / step).mul_(step)
