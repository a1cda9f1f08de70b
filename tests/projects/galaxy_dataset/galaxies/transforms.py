class Compose:
    def __init__(self, parts):
        self.parts = parts

    def __call__(self, x):
        for part in self.parts:
            x = part(x)  # SITE[a]
        return x


class Crop:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return x[..., :self.size, :self.size]


class Copied:
    def __call__(self, x):
        return x.clone()


class Standardise:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, x):
        x -= self.mean  # HAZARD[a] silent
        x /= self.std  # HAZARD[a] silent
        return x
