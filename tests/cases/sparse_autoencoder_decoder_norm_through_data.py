"""Sparse autoencoder renormalises its decoder through .data inside forward, so the gradient ignores the projection.

source: https://github.com/ApolloResearch/e2e_sae/pull/46
"""

import torch
from torch import nn
from torch.nn import functional as F

RAISES = "silent"


class SparseAutoencoder(nn.Module):
    def __init__(self, width=5, n_dict=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, n_dict), nn.ReLU(inplace=True))
        self.decoder = nn.Linear(n_dict, width, bias=True)

    @property
    def dict_elements(self):
        self.decoder.weight.data /= self.decoder.weight.data.norm(dim=0, keepdim=True)  # HAZARD silent
        return self.decoder.weight

    def forward(self, x):
        codes = self.encoder(x)
        return F.linear(codes, self.dict_elements, self.decoder.bias), codes


class SparseAutoencoderFixed(SparseAutoencoder):
    @property
    def dict_elements(self):
        return F.normalize(self.decoder.weight, dim=0)


def decoder_gradient(sae, x, l1=1e-2):
    recon, codes = sae(x)
    loss = F.mse_loss(recon, x)
    loss += l1 * codes.abs().sum(-1).mean()
    sae.zero_grad()
    loss.backward()
    return sae.decoder.weight.grad.clone()


def reference_gradient(sae, x, start, l1=1e-2):
    weight = start.clone().requires_grad_(True)
    codes = sae.encoder(x).detach()
    recon = F.linear(codes, weight / weight.norm(dim=0, keepdim=True), sae.decoder.bias)
    (grad,) = torch.autograd.grad(F.mse_loss(recon, x), weight)
    return grad


def compare(cls):
    torch.manual_seed(0)
    sae = cls()
    x = torch.randn(16, 5)
    x -= x.mean(0)
    start = sae.decoder.weight.detach().clone()
    actual = decoder_gradient(sae, x)
    dead = torch.zeros(8, dtype=torch.bool)
    with torch.no_grad():
        dead |= sae.encoder(x).amax(0) == 0
    return actual, reference_gradient(sae, x, start)


def bad():
    return compare(SparseAutoencoder)


def good():
    return compare(SparseAutoencoderFixed)
