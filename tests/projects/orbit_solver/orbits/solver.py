from torch import nn

from .config import STEPPER
from .field import Field


class Solver(nn.Module):
    def __init__(self, size, stepper=STEPPER):
        super().__init__()
        self.lift = nn.Linear(size, size)
        self.field = Field(size)
        self.stepper = stepper

    def forward(self, start, steps):
        state = self.lift(start)
        for _ in range(steps):
            state = self.stepper(state, self.field(state))  # SITE[a]
        return state
