import torch
import torch.nn.functional as F
from torch import nn


class Codebook(nn.Module):
    def __init__(self, n=5, dim=3, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(n, dim))
        self.register_buffer("count", torch.ones(n))
        self.register_buffer("total", self.codes.clone())

    @torch.no_grad()
    def learn(self, z, index):
        onehot = F.one_hot(index, len(self.codes)).type_as(z)
        self.count.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(onehot.t() @ z, alpha=1 - self.decay)
        n = self.count.sum()
        smoothed = (self.count + 1e-5) / (n + 1e-5 * len(self.codes)) * n
        self.codes.copy_(self.total / smoothed.unsqueeze(1))

    def forward(self, z):
        dist = z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codes.t() + self.codes.pow(2).sum(1)
        index = dist.argmin(1)
        quantised = F.embedding(index, self.codes)
        commit = F.mse_loss(z, quantised.detach())
        out = z + (quantised - z).detach()
        if self.training:
            self.learn(z.detach(), index)
        return out, commit, index


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x.abs() > bound)
        return x.clamp(-bound, bound).mul_(8).round_().div_(8)

    @staticmethod
    def backward(ctx, grad):
        (outside,) = ctx.saved_tensors
        grad = grad.clone()
        grad[outside] = 0
        return grad, None


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec, self.book = nn.Linear(4, 3), nn.Linear(3, 4), Codebook()
        self.register_buffer("usage", torch.zeros(5, dtype=torch.long))

    def forward(self, x):
        z = RoundSTE.apply(self.enc(x), 2.0)
        q, commit, index = self.book(z)
        self.usage += torch.bincount(index, minlength=5)
        return self.dec(q), commit


def run():
    torch.manual_seed(0)
    net = AutoEncoder()
    x = torch.randn(6, 4)
    out = []
    for _ in range(2):
        recon, commit = net(x)
        loss = F.mse_loss(recon, x)
        loss += 0.25 * commit
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
        out.append(loss.detach())
    return out + [net.book.codes, net.usage, *(p.grad for p in net.parameters())]
