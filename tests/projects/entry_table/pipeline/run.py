from .table import load


class Pipeline:
    def __init__(self, names):
        self.steps = [load(name) for name in names]

    def __call__(self, x):
        for step in self.steps:
            x = step(x)  # SITE[a]
        return x
