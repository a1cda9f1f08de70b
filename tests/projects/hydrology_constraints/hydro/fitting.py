import importlib

import torch

balance = importlib.import_module("hydro.constraints.balance")


def _descend(model, optimizer, rain, flow):
    optimizer.zero_grad()
    loss = (model(rain) - flow).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def fit(model, rain, flow, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        _descend(model, optimizer, rain, flow)
        balance.conserve(model.routing.weight)  # SITE[a]
        balance.conserve(model.area)
    return model


def fit_quietly(model, rain, flow, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        _descend(model, optimizer, rain, flow)
        with torch.no_grad():
            balance.conserve(model.routing.weight)
            balance.conserve(model.area)
    return model
