import torch
from torch import nn


def _clamp(module, inputs, output):
    output.clamp_(-10, 10)


def _soften(grad):
    grad = grad.clone()
    grad[grad.abs() > 1] *= 0.5
    return grad


class _Recorder(list):
    def __call__(self, module, inputs, output):
        peak = output.detach().clone()
        peak.abs_()
        self.append(peak.amax())


def guard(model):
    """Clamps what the linear layers give, softens the gradient at the head, records the densities."""
    recorder = _Recorder()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(_clamp)
    model.head.weight.register_hook(_soften)
    model.density.register_forward_hook(recorder)
    model.norm.register_forward_hook(recorder)
    return recorder
