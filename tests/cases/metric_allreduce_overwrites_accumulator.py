"""A distributed metric reduces its accumulators through a backend that sums into the caller's tensor.

source: https://github.com/pytorch/ignite/pull/3607
"""

import functools

import torch

RAISES = "silent"


class Backend:
    """Two simulated ranks; `peer` is what the other rank contributes."""

    def __init__(self, peer):
        self.peer = peer

    def all_reduce(self, tensor, key):
        tensor.add_(self.peer[key])  # HAZARD silent
        return tensor


class CloningBackend(Backend):
    def all_reduce(self, tensor, key):
        tensor = tensor.clone()
        tensor.add_(self.peer[key])
        return tensor


def sync_all_reduce(*names):
    def decorate(compute):
        @functools.wraps(compute)
        def wrapped(self):
            reduced = {n: self.backend.all_reduce(getattr(self, n), n) for n in names}
            return compute(self, **reduced)

        return wrapped

    return decorate


class ConfusionIoU:
    def __init__(self, backend, classes=3):
        self.backend, self.classes = backend, classes
        self.reset()

    def reset(self):
        self.hits = torch.zeros(self.classes)
        self.union = torch.zeros(self.classes)

    def update(self, pred, target):
        for c in range(self.classes):
            p, t = pred == c, target == c
            self.hits[c] += (p & t).sum()
            self.union[c] += (p | t).sum()

    @sync_all_reduce("hits", "union")
    def compute(self, hits, union):
        return hits / union.clamp(min=1)


def evaluate(backend_cls):
    peer = {"hits": torch.tensor([5.0, 1.0, 9.0]), "union": torch.tensor([9.0, 9.0, 10.0])}
    gen = torch.Generator().manual_seed(0)
    iou = ConfusionIoU(backend_cls(peer))
    for _ in range(2):
        iou.update(torch.randint(0, 3, (20,), generator=gen), torch.randint(0, 3, (20,), generator=gen))
    first = iou.compute()
    second = iou.compute()
    return second, first


def bad():
    return evaluate(Backend)


def good():
    return evaluate(CloningBackend)
