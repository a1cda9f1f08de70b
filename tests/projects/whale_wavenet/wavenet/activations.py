from torch import nn


class Lean(nn.LeakyReLU):
    """For long recordings."""

    def __init__(self, slope=0.1):
        super().__init__(slope, True)  # SITE[a]


class Gentle(nn.LeakyReLU):
    def __init__(self, slope=0.1):
        super().__init__(slope)
