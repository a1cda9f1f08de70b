"""TransE normalises entity embeddings under no_grad between the positive and the negative triple's forward.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class KnowledgeGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.entity = nn.Parameter(torch.randn(5, 4))
        self.relation = nn.Parameter(torch.randn(2, 4))
        self.proj = nn.Parameter(torch.randn(4, 4) * 0.4)

    def score(self, h, r, t):
        table = self.entity @ self.proj
        return (table[h] + self.relation[r] - table[t]).norm(dim=-1)

    @torch.no_grad()
    def normalise(self):
        self.entity /= self.entity.norm(dim=1, keepdim=True)  # HAZARD saved


class GoodGraph(KnowledgeGraph):
    def score(self, h, r, t):
        table = self.entity.clone() @ self.proj
        return (table[h] + self.relation[r] - table[t]).norm(dim=-1)


def margin_loss(model, pos, neg):
    near = model.score(*pos)
    model.normalise()
    far = model.score(*neg)
    return torch.relu(1 + near - far).mean()


def train(cls):
    torch.manual_seed(0)
    model = cls()
    pos = torch.tensor([[0, 1], [0, 1], [2, 3]])
    neg = torch.tensor([[0, 4], [0, 1], [2, 3]])
    loss = margin_loss(model, pos, neg)
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def bad():
    return train(KnowledgeGraph)


def good():
    return train(GoodGraph)
