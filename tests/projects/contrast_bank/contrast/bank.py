import torch
import torch.nn.functional as F

from . import model as M


class KeyBank:
    def __init__(self, size=None):
        size = size or M.BANK
        self.keys = F.normalize(torch.randn(size, M.WIDTH), dim=1)
        self.at = 0

    @torch.no_grad()
    def enqueue(self, keys):
        n = len(keys)
        self.keys[self.at:self.at + n] = keys  # HAZARD[a] saved
        self.at = (self.at + n) % len(self.keys)

    def similarity(self, queries):
        return queries @ self.keys.T

    def similarity_to_copy(self, queries):
        return queries @ self.keys.clone().T
