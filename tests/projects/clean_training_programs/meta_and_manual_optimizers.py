import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap


class Adam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, decay=decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["t"] = 0
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["t"] += 1
                if group["decay"]:
                    p.mul_(1 - group["lr"] * group["decay"])
                m, v = state["m"], state["v"]
                m.lerp_(p.grad, 1 - b1)
                v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                denom = (v / (1 - b2 ** state["t"])).sqrt_().add_(group["eps"])
                p.addcdiv_(m, denom, value=-group["lr"] / (1 - b1 ** state["t"]))
        return loss


def foreach_sgd(params, buffers, lr):
    with torch.no_grad():
        grads = [p.grad for p in params]
        torch._foreach_mul_(buffers, 0.9)
        torch._foreach_add_(buffers, grads)
        torch._foreach_add_(params, buffers, alpha=-lr)


def adapt(net, x, y, lr=0.1, steps=2):
    params = {k: v.clone() for k, v in net.named_parameters()}
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def per_sample_norms(net, x, y):
    params = {k: v.detach() for k, v in net.named_parameters()}

    def loss(params, xi, yi):
        return F.mse_loss(functional_call(net, params, (xi.unsqueeze(0),)), yi.unsqueeze(0))

    grads = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    total = torch.zeros(len(x))
    for g in grads.values():
        total += g.flatten(1).square().sum(1)
    return total.sqrt_()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = Adam(net.parameters(), decay=0.01)
    buffers = [torch.zeros_like(p) for p in net.parameters()]
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    outs = []
    for i in range(3):
        fast = adapt(net, x[:3], y[:3])
        loss = F.mse_loss(functional_call(net, fast, (x[3:],)), y[3:])
        opt.zero_grad()
        loss.backward()
        opt.step() if i % 2 == 0 else foreach_sgd(list(net.parameters()), buffers, 0.01)
        outs.append(loss.detach())
    return outs + [per_sample_norms(net, x, y), *(p.grad for p in net.parameters())]
