import torch


class PolyakPull:
    def __init__(self, net, strength):
        self.net, self.strength = net, strength
        self.average = [torch.zeros_like(p) for p in net.parameters()]

    def apply(self):
        for p, mean in zip(self.net.parameters(), self.average):
            p.data.lerp_(mean, self.strength)  # HAZARD[a] silent
            mean.lerp_(p.detach(), 0.1)
