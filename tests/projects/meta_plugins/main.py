"""Terms of an energy are plugins that a metaclass collects.

mechanism: a metaclass that inherits from ABCMeta, keys from the namespace, create() in the base class
"""
import torch

from dock.energies import lennard_jones

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    lennard_jones(torch.rand(5, 3, requires_grad=True)).backward()


def good():
    torch.manual_seed(0)
    lennard_jones(torch.rand(5, 3, requires_grad=True), guard="soft").backward()
