"""Custom transducer loss multiplies its precomputed gradients by grad_output in place; retain_graph then fails.

source: https://github.com/k2-fsa/k2/pull/1106
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def path_loss_and_grads(px, py):
    """sum over the two monotone borders of the lattice, with hand-made gradients"""
    with torch.no_grad():
        a, b = px[:, :, 0].sum(1), py[:, 0, :].sum(1)
        total = torch.logaddexp(a, b)
        gx, gy = torch.zeros_like(px), torch.zeros_like(py)
        gx[:, :, 0] += torch.exp(a - total).unsqueeze(1)
        gy[:, 0, :] += torch.exp(b - total).unsqueeze(1)
    return total, gx, gy


class LatticeScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx, px, py):
        total, px_grad, py_grad = path_loss_and_grads(px, py)
        ctx.save_for_backward(px_grad, py_grad)
        return total

    @staticmethod
    def backward(ctx, grad_output):
        px_grad, py_grad = ctx.saved_tensors
        grad_output = grad_output.reshape(-1, 1, 1)
        px_grad *= grad_output  # HAZARD saved
        py_grad *= grad_output  # HAZARD saved
        return px_grad, py_grad


class LatticeScoreFixed(LatticeScore):
    @staticmethod
    def backward(ctx, grad_output):
        px_grad, py_grad = ctx.saved_tensors
        scale = grad_output.reshape(-1, 1, 1).clone()
        scale.nan_to_num_()
        return px_grad * scale, py_grad * scale


class Joiner(nn.Module):
    def __init__(self, score):
        super().__init__()
        self.enc, self.dec = nn.GRU(5, 6, batch_first=True), nn.Linear(4, 6)
        self.score = score

    def forward(self, speech, text):
        am, _ = self.enc(speech)
        lm = self.dec(text)
        logits = am @ lm.transpose(1, 2)
        logits /= 6**0.5
        px, py = nn.functional.logsigmoid(logits), nn.functional.logsigmoid(-logits)
        return -self.score.apply(px, py).mean()


def train(score):
    torch.manual_seed(0)
    model = Joiner(score)
    opts = [torch.optim.Adam(model.enc.parameters(), lr=1e-3), torch.optim.SGD(model.dec.parameters(), lr=1e-2)]
    loss = model(torch.randn(3, 7, 5), torch.randn(3, 4, 4))
    for opt in opts:
        opt.zero_grad()
    loss.backward(retain_graph=True, inputs=list(model.enc.parameters()))
    loss.backward(inputs=list(model.dec.parameters()))
    for opt in opts:
        opt.step()


def bad():
    train(LatticeScore)


def good():
    train(LatticeScoreFixed)
