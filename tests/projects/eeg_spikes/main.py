"""A helper that counts spikes blanks them too, in the numpy array that shares the memory of the features; nothing notices.

mechanism: numpy writes through detach().numpy() in a helper of another file, silent; called for its count in a loss method
"""
import torch

from eeg.model import SleepNet

RAISES = "silent"


def gradient(count=None):
    torch.manual_seed(0)
    net = SleepNet(channels=4, stages=3, count=count)
    signal, stages = torch.randn(2, 4, 16), torch.tensor([0, 2])
    net.loss(signal, stages).backward()
    return net.filters.weight.grad


def bad():
    from eeg.artifacts import count_spikes
    return gradient(count_spikes), gradient()


def good():
    from eeg.artifacts import count_spikes_of_copy
    return gradient(count_spikes_of_copy), gradient()
