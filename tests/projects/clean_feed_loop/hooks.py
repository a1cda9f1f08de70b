import torch


class Ema:
    """The mean of the weights, updated after each step."""

    def __init__(self, model, decay=0.9):
        self.model, self.decay = model, decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}

    @torch.no_grad()
    def after_step(self, loss):
        for k, v in self.model.named_parameters():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)


class Clip:
    def __init__(self, model, limit):
        self.model, self.limit = model, limit

    def after_backward(self, loss):
        for p in self.model.parameters():
            p.grad.mul_(min(1.0, self.limit / (p.grad.norm().item() + 1e-6)))


class Meter:
    def __init__(self):
        self.total, self.n = torch.zeros(()), 0

    def after_step(self, loss):
        self.total += loss.detach()
        self.n += 1

    @property
    def mean(self):
        return self.total / max(1, self.n)
