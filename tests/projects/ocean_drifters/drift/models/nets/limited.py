from ...common.limits import SoftSpeedLimit, SpeedLimit
from .velocity import VelocityField


class LimitedField(SpeedLimit, VelocityField):  # SITE[a]
    limit = 0.3


class SoftlyLimitedField(SoftSpeedLimit, VelocityField):
    limit = 0.3
