from .meta import Registered


class Clip(metaclass=Registered):
    def __call__(self, x):
        return x.clamp_(max=1.5)  # HAZARD[a] saved


class Soft(metaclass=Registered):
    def __call__(self, x):
        return x.clamp(max=1.5).add_(1)
