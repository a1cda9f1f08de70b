import torch
from torch import nn


def _prune(module, inputs, output, floor=0.15):
    output[output < floor] = 0  # HAZARD[a] saved


def _prune_copy(module, inputs, output, floor=0.15):
    return torch.where(output < floor, torch.zeros_like(output), output)


def _attach(model, hook):
    return [m.register_forward_hook(hook) for m in model.modules() if isinstance(m, nn.Softmax)]  # SITE[a]


def attach_pruning(model):
    return _attach(model, _prune)  # SITE[a]


def attach_soft_pruning(model):
    return _attach(model, _prune_copy)
