"""A mass-spring simulator moves positions in place while the spring force, with a learned stiffness, saved them.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.stiffness = nn.Parameter(torch.tensor(1.5))
        self.damping = nn.Parameter(torch.tensor(0.1))

    def acceleration(self, pos, vel):
        return -self.stiffness * pos - self.damping * vel


class BadWorld(World):
    def rollout(self, pos, vel, dt, steps):
        track = []
        for _ in range(steps):
            acc = self.acceleration(pos, vel)
            vel = vel + dt * acc
            pos += dt * vel  # HAZARD saved
            track.append(pos.clone())
        return torch.stack(track)


class GoodWorld(World):
    def rollout(self, pos, vel, dt, steps):
        track = []
        for _ in range(steps):
            acc = self.acceleration(pos, vel)
            vel = vel + dt * acc
            pos = pos + dt * vel
            track.append(pos)
        return torch.stack(track)


def train(cls):
    torch.manual_seed(0)
    world = cls()
    path = world.rollout(torch.ones(2), torch.zeros(2), 0.1, 4)
    loss = (path - torch.linspace(1, 0, 4).unsqueeze(1)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in world.parameters())]


def bad():
    return train(BadWorld)


def good():
    return train(GoodWorld)
