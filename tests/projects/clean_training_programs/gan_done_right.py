import torch
from torch import autograd, nn


def critic_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mix = real.mul(eps).add_(fake.mul(1 - eps)).requires_grad_()
    (grad,) = autograd.grad(critic(mix).sum(), mix, create_graph=True)
    norm = grad.square().sum(1).add(1e-12).sqrt()
    return (norm - 1).square_().mean()


class EMA:
    def __init__(self, net, decay=0.9):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}

    @torch.no_grad()
    def update(self, net):
        for k, v in net.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)
            else:
                self.shadow[k].copy_(v)


class Trainer:
    def __init__(self):
        self.gen = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 3))
        self.critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 1))
        self.g_opt = torch.optim.Adam(self.gen.parameters(), 1e-3, betas=(0.0, 0.9))
        self.c_opt = torch.optim.Adam(self.critic.parameters(), 1e-3, betas=(0.0, 0.9))
        self.ema = EMA(self.gen)
        self.history = torch.zeros(4)
        self.seen = 0

    def set_requires_grad(self, net, flag):
        for p in net.parameters():
            p.requires_grad_(flag)

    def critic_step(self, real, noise):
        self.set_requires_grad(self.critic, True)
        with torch.no_grad():
            fake = self.gen(noise)
        loss = self.critic(fake).mean() - self.critic(real).mean()
        loss += critic_penalty(self.critic, real, fake) * 10
        self.c_opt.zero_grad(set_to_none=True)
        loss.backward()
        self.c_opt.step()
        return loss.detach()

    def generator_step(self, noise):
        self.set_requires_grad(self.critic, False)
        loss = -self.critic(self.gen(noise)).mean()
        self.g_opt.zero_grad(set_to_none=True)
        loss.backward()
        self.g_opt.step()
        self.ema.update(self.gen)
        return loss.detach()

    def step(self, real, noise):
        c = self.critic_step(real, noise)
        g = self.generator_step(noise)
        self.history[self.seen % 4] = c + g
        self.seen += 1


def run():
    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(3):
        trainer.step(torch.randn(4, 3), torch.randn(4, 2))
    return [trainer.history, *trainer.ema.shadow.values()]
