import torch
from torch import nn

from .make import eval_op, train_op


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.train_normalise = train_op("normalise")
        self.eval_normalise = eval_op("normalise")

    def forward(self, x):
        return self.train_normalise(self.fc(x).exp())

    @torch.no_grad()
    def predict(self, x):
        return self.eval_normalise(self.fc(x).exp())
