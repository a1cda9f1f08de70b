import torch
from torch import nn


class CRF(nn.Module):
    def __init__(self, tags=3):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(tags, tags) * 0.1)
        self.start = nn.Parameter(torch.zeros(tags))

    def partition(self, emissions, mask):
        alpha = self.start + emissions[:, 0]
        for t in range(1, emissions.size(1)):
            new = torch.logsumexp(alpha.unsqueeze(2) + self.trans, dim=1)
            new = new + emissions[:, t]
            alpha = torch.where(mask[:, t, None], new, alpha)
        return torch.logsumexp(alpha, 1)

    def score(self, emissions, tags, mask):
        total = self.start[tags[:, 0]] + emissions[:, 0].gather(1, tags[:, :1]).squeeze(1)
        for t in range(1, emissions.size(1)):
            step = self.trans[tags[:, t - 1], tags[:, t]] + emissions[:, t].gather(1, tags[:, t : t + 1]).squeeze(1)
            total += step * mask[:, t]
        return total

    @torch.no_grad()
    def decode(self, emissions):
        best = self.start + emissions[0]
        back = torch.zeros(len(emissions), len(self.start), dtype=torch.long)
        for t in range(1, len(emissions)):
            values, back[t] = (best.unsqueeze(1) + self.trans).max(0)
            best = values
            best += emissions[t]
        path = [best.argmax().item()]
        for t in range(len(emissions) - 1, 0, -1):
            path.append(back[t, path[-1]].item())
        return path[::-1]


def soft_dtw(cost, gamma=0.5):
    n, m = cost.shape
    table = torch.full((n + 1, m + 1), 1e6)
    table[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            near = torch.stack([table[i - 1, j - 1], table[i - 1, j], table[i, j - 1]])
            table[i, j] = cost[i - 1, j - 1] - gamma * torch.logsumexp(-near / gamma, 0)
    return table[n, m]


def run():
    torch.manual_seed(0)
    crf, lin = CRF(), nn.Linear(4, 3)
    x = torch.randn(2, 4, 4)
    mask = torch.ones(2, 4, dtype=torch.bool)
    mask[1, 3:] = False
    tags = torch.tensor([[0, 1, 2, 1], [2, 1, 0, 0]])
    emissions = lin(x)
    loss = (crf.partition(emissions, mask) - crf.score(emissions, tags, mask)).mean()
    a, b = emissions
    loss += soft_dtw(torch.cdist(a, b))
    loss.backward()
    return [
        loss.detach(),
        torch.tensor(crf.decode(emissions[0].detach())),
        *(p.grad for p in [*crf.parameters(), *lin.parameters()]),
    ]
