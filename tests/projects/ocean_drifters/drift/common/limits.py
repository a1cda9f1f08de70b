class Limited:
    limit = 1.0

    def speed(self, v):
        return v.detach().norm(dim=-1, keepdim=True)


class SpeedLimit(Limited):
    """Mixin: goes before a module."""

    def forward(self, positions):
        v = super().forward(positions)
        excess = self.speed(v).div_(self.limit).clamp_(min=1.0)
        v /= excess  # HAZARD[a] saved
        return v


class SoftSpeedLimit(Limited):
    def forward(self, positions):
        v = super().forward(positions)
        excess = self.speed(v).div_(self.limit).clamp_(min=1.0)
        return v / excess
