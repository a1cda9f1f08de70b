"""The projection dispatches on the type of what it gets; for a module it ends at its parameters, which clamp_ overwrites.

mechanism: functools.singledispatch, implementations registered for nn.Module, list and Tensor in another file
"""
import torch

from mixture import Mixture, fit

RAISES = "a leaf Variable that requires grad"


def samples():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(12, 1, generator=generator)
    x[:6] += 2
    return x


def bad():
    torch.manual_seed(0)
    fit(Mixture(3), samples(), guarded=False)


def good():
    torch.manual_seed(0)
    model = Mixture(3)
    fit(model, samples(), guarded=True)
    assert float(model.spread.detach().min()) >= 0.1
