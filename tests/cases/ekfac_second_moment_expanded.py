"""EKFAC preconditioner keeps its running second moments as an expanded eigenvalue outer vector, then updates in place.

source: https://github.com/Thrandis/EKFAC-pytorch/issues/8
"""

import torch
from torch import nn

RAISES = "more than one element of the written-to tensor refers to a single memory location"


class Ekfac(torch.optim.Optimizer):
    def __init__(self, net, alpha=0.75, eps=1e-3, every=2):
        self.alpha, self.eps, self.every, self.calls = alpha, eps, every, 0
        groups, self.hooks = [], []
        for mod in net.modules():
            if isinstance(mod, nn.Linear):
                self.hooks.append(mod.register_forward_pre_hook(self.save_input))
                self.hooks.append(mod.register_full_backward_hook(self.save_grad))
                groups.append({"params": [mod.weight], "mod": mod})
        super().__init__(groups, {})
        self.captured = {}

    def save_input(self, mod, args):
        self.captured.setdefault(mod, {})["x"] = args[0].detach()

    def save_grad(self, mod, grad_in, grad_out):
        self.captured[mod]["gy"] = grad_out[0].detach() * len(grad_out[0])

    def initial_moments(self, lam_in, rows):
        return lam_in.unsqueeze(0).expand(rows, -1)

    def update_moments(self, m2, fresh):
        m2.mul_(self.alpha).add_(fresh, alpha=1 - self.alpha)  # HAZARD view

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            w, seen = group["params"][0], self.captured[group["mod"]]
            state = self.state[w]
            if self.calls % self.every == 0:
                lam, basis = torch.linalg.eigh(seen["x"].T @ seen["x"] / len(seen["x"]))
                state["basis"], state["m2"] = basis, self.initial_moments(lam, len(w))
            g = w.grad @ state["basis"]
            self.update_moments(state["m2"], g.square())
            g /= state["m2"] + self.eps
            w.grad.copy_(g @ state["basis"].T)
        self.calls += 1


class EkfacFixed(Ekfac):
    def initial_moments(self, lam_in, rows):
        return lam_in.unsqueeze(0).repeat(rows, 1)

    def update_moments(self, m2, fresh):
        m2.mul_(self.alpha).add_(fresh, alpha=1 - self.alpha)


def train(precond_cls):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    precond, sgd = precond_cls(net), torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(3):
        x = torch.randn(8, 4, requires_grad=True)
        sgd.zero_grad()
        nn.functional.mse_loss(net(x), x.detach()[:, :2].abs()).backward()
        precond.step()
        sgd.step()


def bad():
    train(Ekfac)


def good():
    train(EkfacFixed)
