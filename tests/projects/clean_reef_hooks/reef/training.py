import torch
from torch.nn.utils import clip_grad_norm_


def poisson(rate, count):
    loss = rate - count * rate.log()
    loss += torch.lgamma(count + 1)
    return loss.mean()


def fit(model, pixels, counts, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        loss = poisson(model(pixels), counts)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
