import torch
from torch import nn


def scatter_mean(src, index, size):
    out = src.new_zeros(size, src.size(1))
    out.index_add_(0, index, src)
    count = src.new_zeros(size)
    count.scatter_add_(0, index, torch.ones_like(index, dtype=src.dtype))
    count.clamp_(min=1)
    return out.div_(count.unsqueeze(1))


def edge_softmax(logits, index, size):
    peak = logits.new_full((size,), float("-inf"))
    peak.scatter_reduce_(0, index, logits.detach(), "amax")
    weights = (logits - peak[index]).exp()
    norm = torch.zeros(size).index_add(0, index, weights)
    return weights / norm[index].clamp(min=1e-9)


def degrees(edges, n):
    deg = torch.zeros(n)
    deg.scatter_add_(0, edges[1], torch.ones(edges.size(1)))
    inv = deg.pow(-0.5)
    inv[inv == float("inf")] = 0
    return inv


class Conv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.lin, self.att = nn.Linear(a, b), nn.Linear(2 * b, 1)
        self.act = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x, edges):
        h = self.lin(x)
        src, dst = edges
        logits = self.act(self.att(torch.cat([h[src], h[dst]], 1))).squeeze(1)
        alpha = edge_softmax(logits, dst, len(x))
        messages = h[src] * alpha.unsqueeze(1)
        out = scatter_mean(messages, dst, len(x))
        out += h
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([Conv(3, 4), Conv(4, 4)])
        self.head = nn.Linear(4, 2)

    def forward(self, x, edges):
        inv = degrees(edges, len(x))
        x = x * inv.unsqueeze(1)
        for conv in self.convs:
            x = conv(x, edges)
            x.relu_()
        return self.head(x)


def run():
    torch.manual_seed(0)
    net = Net()
    edges = torch.tensor([[0, 1, 2, 3, 0, 2], [1, 2, 3, 0, 2, 1]])
    out = net(torch.randn(4, 3), edges)
    mask = torch.zeros(4, dtype=torch.bool)
    mask[:2] = True
    loss = nn.functional.cross_entropy(out[mask], torch.tensor([0, 1]))
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]
