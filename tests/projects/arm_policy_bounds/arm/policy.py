import torch
from torch import nn

from .utils import bounded, bounded_copy


class Policy(nn.Module):
    def __init__(self, joints):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(joints + 2, 16), nn.ReLU(inplace=True))
        self.mean = nn.Linear(16, joints)

    @bounded(-2.0, 2.0)
    def raw(self, angles, goal):
        return self.mean(self.trunk(torch.cat([angles, goal], -1)))


class BoundedPolicy(Policy):
    @bounded(-0.3, 0.3)  # SITE[a]
    def forward(self, angles, goal):
        return torch.tanh(self.raw(angles, goal))


class CopyBoundedPolicy(Policy):
    @bounded_copy(-0.3, 0.3)
    def forward(self, angles, goal):
        return torch.tanh(self.raw(angles, goal))
