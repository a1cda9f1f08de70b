from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Log:
    positions: list = field(default_factory=list)
    energy: torch.Tensor = field(default_factory=lambda: torch.zeros(()))

    def add(self, pos, vel):
        self.positions.append(pos.detach().clone())
        self.energy += vel.detach().square().sum()


class Springs(nn.Module):
    def __init__(self, edges):
        super().__init__()
        self.register_buffer("edges", edges)
        self.stiffness = nn.Parameter(torch.ones(edges.size(1)))
        self.mass = nn.Parameter(torch.ones(4))

    def force(self, pos):
        a, b = self.edges
        pull = self.stiffness.unsqueeze(1) * (pos[b] - pos[a])
        total = torch.zeros_like(pos)
        total.index_add_(0, a, pull)
        total.index_add_(0, b, -pull)
        total[:, 1] -= 9.8 * 0.01
        return total

    def forward(self, pos, vel, steps, dt=0.05):
        log = Log()
        for _ in range(steps):
            acc = self.force(pos)
            acc = acc / self.mass.unsqueeze(1)
            vel = vel + dt * acc
            pos = pos + dt * vel
            below = pos[:, 1] < 0
            vel = torch.where(below.unsqueeze(1), -0.5 * vel, vel)
            pos = torch.cat([pos[:, :1], pos[:, 1:].clamp(min=0)], 1)
            log.add(pos, vel)
        return pos, vel, log


class Heat(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(0.2))

    def forward(self, grid, steps):
        for _ in range(steps):
            lap = torch.zeros_like(grid)
            lap[1:-1] += grid[2:]
            lap[1:-1] += grid[:-2]
            lap[1:-1] -= 2 * grid[1:-1]
            grid = grid + self.alpha * lap
        return grid


def project(params):
    with torch.no_grad():
        for p in params:
            p.clamp_(min=0.01)


def run():
    torch.manual_seed(0)
    springs, heat = Springs(torch.tensor([[0, 1, 2], [1, 2, 3]])), Heat()
    opt = torch.optim.SGD([*springs.parameters(), *heat.parameters()], 0.01)
    for _ in range(2):
        pos, vel, log = springs(torch.rand(4, 2), torch.zeros(4, 2), 3)
        loss = pos.square().sum() + heat(torch.linspace(0, 1, 6) ** 2, 3).square().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        project(springs.parameters())
    return [
        loss.detach(),
        log.energy,
        *(p.grad for p in springs.parameters()),
        *(p.detach() for p in heat.parameters()),
    ]
