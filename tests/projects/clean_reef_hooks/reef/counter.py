from torch import nn


class Counter(nn.Module):
    """Sum of densities over the pixels."""

    def __init__(self, channels, width):
        super().__init__()
        self.first = nn.Linear(channels, width)
        self.norm = nn.LayerNorm(width)
        self.act = nn.ReLU(inplace=True)
        self.head = nn.Linear(width, 1)
        self.density = nn.Softplus()

    def forward(self, pixels):
        h = self.act(self.norm(self.first(pixels)))
        return self.density(self.head(h)).squeeze(-1).sum(1)
