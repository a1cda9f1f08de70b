"""The unrolled solver adds the lateral input in place to what a custom shrinkage function saved for its backward.

mechanism: custom autograd.Function in another file behind `apply`, re-exported by the package, saver there and writer here
"""
import torch

from lista.solver import FastLista, Lista

RAISES = "modified by an inplace operation"


def train(cls):
    torch.manual_seed(0)
    model = cls(pixels=12, atoms=9)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    patches = torch.randn(4, 12)
    code = model(patches)
    loss = (model.decode(code) - patches).square().mean()
    loss += 0.01 * code.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bad():
    train(FastLista)


def good():
    train(Lista)
