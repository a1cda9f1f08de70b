from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        scores /= x.size(-1) ** 0.5
        weights = self.softmax(scores)  # SITE[a]
        return weights @ self.v(x)
