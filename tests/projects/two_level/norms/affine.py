from .base import Norm


class Affine(Norm):
    scale = 2.0

    def apply(self, x):
        return self.shift(x) * self.scale  # SITE[a]
