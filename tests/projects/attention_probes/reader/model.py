from torch import nn

from .attention import Attention


class Reader(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.attention = Attention(width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(inplace=True), nn.Linear(width, 2))

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x + self.attention(x)
        return self.head(x.mean(1))
