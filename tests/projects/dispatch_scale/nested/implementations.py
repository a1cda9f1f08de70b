import torch

from .generic import copied, rescale


@rescale.register
def _(value: torch.Tensor, by):
    return value.mul_(by)  # HAZARD[a] saved


@rescale.register
def _(value: dict, by):
    return {k: rescale(v, by) for k, v in value.items()}  # SITE[a]


@copied.register(torch.Tensor)
def _(value):
    return value.clone()


@copied.register(dict)
def _(value):
    return {k: copied(v) for k, v in value.items()}
