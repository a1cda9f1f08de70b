import numpy as np
import torch

from .absorb import absorb_, border_mask
from .state import Wave, laplacian


class Inversion:
    def __init__(self, points, lr):
        self.slowness = torch.full((points,), 2.0).requires_grad_()
        self.mask = border_mask(points)
        self.optimizer = torch.optim.SGD([self.slowness], lr=lr)

    def shoot(self, steps, source=3, receiver=5):
        speed = self.slowness.reciprocal().square()
        wave, heard = Wave.still(len(speed)), []
        for t in range(steps):
            field = 2 * wave.now - wave.before
            field += speed * laplacian(wave.now)
            field[source] += float(np.exp(-(t - 1) ** 2))
            field = absorb_(field, self.mask)
            wave = wave.moved(field)
            heard.append(field[receiver])
        return torch.stack(heard)

    def step(self, traces):
        self.optimizer.zero_grad()
        residual = self.shoot(len(traces))
        residual -= traces
        loss = residual.square().sum() + 0.01 * self.slowness.diff().abs().sum()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.slowness.clamp_(1.0, 5.0)
        return loss.item()

    def picture(self):
        values = self.slowness.detach().clone().numpy()
        values -= values.min()
        values /= max(float(values.max()), 1e-6)
        scaled = torch.empty(len(values))
        return torch.mul(torch.from_numpy(values), 1.0, out=scaled)
