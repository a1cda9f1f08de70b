"""EMA tracker's checkpoint hands out its live step counter, which the next update increments in place.

source: https://github.com/ai2cm/ace/pull/1009
"""

import torch
from torch import nn

RAISES = "silent"


class EmaTracker:
    def __init__(self, model, decay=0.9):
        self.decay = torch.tensor(decay)
        self.num_updates = torch.tensor(0)
        self.ema = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def __call__(self, model):
        self.num_updates += 1  # HAZARD silent
        rate = 1 - torch.minimum(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        for name, p in model.named_parameters():
            self.ema[name].add_(p - self.ema[name], alpha=rate.item())

    def get_state(self):
        return {
            "decay": self.decay,
            "num_updates": self.num_updates,  # ALT-SITE
            "ema": {k: v.clone() for k, v in self.ema.items()},
        }

    def load_state(self, state):
        self.decay, self.num_updates = state["decay"].clone(), state["num_updates"].clone()
        self.ema = {k: v.clone() for k, v in state["ema"].items()}


class SafeEmaTracker(EmaTracker):
    @torch.no_grad()
    def __call__(self, model):
        self.num_updates += 1
        rate = 1 - torch.minimum(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        for name, p in model.named_parameters():
            self.ema[name].add_(p - self.ema[name], alpha=rate.item())

    def get_state(self):
        return {
            "decay": self.decay.clone(),
            "num_updates": self.num_updates.clone(),
            "ema": {k: v.clone() for k, v in self.ema.items()},
        }


def train_steps(model, opt, tracker, n):
    for _ in range(n):
        opt.zero_grad()
        model(torch.randn(4, 3)).square().mean().backward()
        opt.step()
        tracker(model)


def restart(tracker_cls):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    tracker = tracker_cls(model)
    train_steps(model, opt, tracker, 3)
    checkpoint = tracker.get_state()
    saved_at = int(tracker.num_updates)
    train_steps(model, opt, tracker, 4)  # diverges, roll back
    tracker.load_state(checkpoint)
    return tracker.num_updates.float(), torch.tensor(float(saved_at))


def bad():
    return restart(EmaTracker)


def good():
    return restart(SafeEmaTracker)
