class ScaleMixin:
    factor = 0.5

    def rescale(self, t):
        return t.mul_(self.factor)  # HAZARD[a] saved


class SafeScaleMixin:
    factor = 0.5

    def rescale(self, t):
        return t.mul(self.factor)
