import torch


def draw(rows, alpha=0.4):
    share = torch.distributions.Beta(alpha, alpha).sample()
    share.clamp_(0.1, 0.9)
    return torch.randperm(rows), share
