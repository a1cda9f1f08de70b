import torch

from . import projections  # noqa: F401  (registers)
from .dispatch import project


def responsible(model, x):
    with torch.no_grad():
        weights = model(x)
        weights -= weights.max()
        weights.exp_()
        return project(weights, 0.0, 1.0)


def fit(model, x, guarded, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rate = 0.1
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -(model(x) * responsible(model, x)).mean()
        loss.backward()
        rate = project(rate * 0.9, 0.01, 0.1)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        if guarded:
            with torch.no_grad():
                project(model, 0.1, 2.0)
        else:
            project(model, 0.1, 2.0)  # SITE[a]
    return loss.item()
