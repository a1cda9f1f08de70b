import torch

__all__ = ["uniform_prior", "fitted_prior"]


def _row(topics, strength):
    return torch.full((1, topics), strength / topics)


def uniform_prior(documents, topics, strength=1.0):
    return _row(topics, strength).expand(documents, -1)


def fitted_prior(documents, topics, strength=1.0):
    rows = _row(topics, strength).repeat(documents, 1)
    rows += torch.linspace(0, 0.1, topics)
    return rows
