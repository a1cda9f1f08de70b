"""The transform standardises the picture it is given, a view of the data set's own memory: the second epoch is another one.

mechanism: Dataset hands out views, Compose of callables from another file, constants from a config module, silent
"""
import torch

from galaxies import defaults
from galaxies.data import Galaxies, epoch
from galaxies.regressor import fit

RAISES = "silent"


def epochs(transform):
    torch.manual_seed(0)
    dataset = Galaxies.simulated(6, transform)
    first = epoch(dataset, batch=3)
    fit(dataset, first)
    return epoch(dataset, batch=3), first


def bad():
    return epochs(defaults.TRAIN)


def good():
    return epochs(defaults.CAREFUL)
