"""A best state that changes with the model, and the sanitizer's words about it."""

import torch
from torch import nn

from flake8_inplace.runtime import inplace_sanitizer

model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
with inplace_sanitizer("record", stale_reads=True) as report:
    best = model.state_dict()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    model.load_state_dict(best)  # noqa: TIP307
print(report.stale[0])
