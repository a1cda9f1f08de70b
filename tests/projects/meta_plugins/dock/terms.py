from .plugins import Plugin


class Clip(Plugin):
    key = "clip"

    def __init__(self, low=0.3):
        self.low = low

    def apply(self, r):
        r[r < self.low] = self.low  # HAZARD[a] masked write
        return r


class Soft(Plugin):
    key = "soft"

    def apply(self, r):
        return (r * r + 0.01).sqrt()
