import torch
import torch.nn.functional as F


def hinge(real, fake):
    return F.relu(1 - real, inplace=True).mean() + F.relu(1 + fake, inplace=True).mean()


def realism(fake):
    return -fake.mean()


def roughness(height):
    slopes = torch.diff(height, dim=1)
    return slopes.square().mean().mul(0.01)
