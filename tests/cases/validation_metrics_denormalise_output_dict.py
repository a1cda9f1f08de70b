"""Validation metrics de-normalise the tensors inside the model's output dict, which the caller still uses.

source: https://github.com/facebookresearch/fairchem/pull/645
"""

import torch
from torch import nn

RAISES = "silent"


class ForceField(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 8), nn.SiLU())
        self.energy, self.forces = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, atoms):
        h = self.trunk(atoms)
        return {"energy": self.energy(h).sum((1, 2)), "forces": self.forces(h)}


class Normalizer:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std


class Evaluator:
    def __init__(self):
        self.totals, self.count = {}, 0

    def update(self, out, target):
        for key in out:
            self.totals.setdefault(key, torch.zeros(()))
            self.totals[key] += (out[key] - target[key]).abs().mean()
        self.count += 1


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = ForceField()
        self.norms = {"energy": Normalizer(-3.0, 2.0), "forces": Normalizer(0.0, 0.5)}
        self.evaluator = Evaluator()

    def _compute_metrics(self, out, batch):
        for key, norm in self.norms.items():
            out[key] *= norm.std  # HAZARD silent
            out[key] += norm.mean  # HAZARD silent
        self.evaluator.update(out, batch)

    def _loss(self, out, batch):
        return sum(nn.functional.l1_loss(out[k], (batch[k] - n.mean) / n.std) for k, n in self.norms.items())

    @torch.no_grad()
    def validate(self, loader):
        with_metrics = torch.zeros(())
        plain = torch.zeros(())
        for batch in loader:
            out = self.model(batch["atoms"])
            plain += self._loss(out, batch)
            self._compute_metrics(out, batch)
            with_metrics += self._loss(out, batch)
        return with_metrics, plain


class FixedTrainer(Trainer):
    def _compute_metrics(self, out, batch):
        denormed = {}
        for key, norm in self.norms.items():
            value = out[key] * norm.std
            value += norm.mean
            denormed[key] = value
        self.evaluator.update(denormed, batch)


def run(cls):
    gen = torch.Generator().manual_seed(1)
    loader = [
        {
            "atoms": torch.randn(2, 4, 3, generator=gen),
            "energy": torch.randn(2, generator=gen),
            "forces": torch.randn(2, 4, 3, generator=gen),
        }
        for _ in range(2)
    ]
    return cls().validate(loader)


def bad():
    return run(Trainer)


def good():
    return run(FixedTrainer)
