import torch
from torch import nn

from .callbacks import TABLE


class Engine:
    def __init__(self, names):
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.callbacks = [TABLE[name]() for name in names]
        self.count = 0

    def emit(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)  # SITE[a]

    def fit(self, batches):
        for batch in batches:
            self.loss = self.model(batch).square().mean()
            self.emit("after_loss")  # SITE[a]
            self.loss.backward()
            self.emit("after_backward")
            self.count += 1
