from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from . import stats


@dataclass
class Rollout:
    ratio: torch.Tensor
    value: torch.Tensor
    advantage: torch.Tensor | None = None

    def __len__(self):
        return len(self.ratio)

    def with_returns(self, returns):
        advantage = stats.centre(returns - self.value.detach())
        advantage /= stats.spread(advantage)
        return replace(self, advantage=advantage)

    def clip(self, eps):
        self.ratio.clamp_(1 - eps, 1 + eps)  # HAZARD[a] saved
        return self

    def clipped(self, eps):
        return replace(self, ratio=self.ratio.clamp(1 - eps, 1 + eps))

    def centre_values(self):
        self.value = stats.centre(self.value)  # SITE[b]
        return self
