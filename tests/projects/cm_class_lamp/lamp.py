import torch


class Halved:
    def __init__(self, net):
        self.net = net

    @torch.no_grad()
    def __enter__(self):
        self.net.weight.mul_(0.5)
        return self.net

    @torch.no_grad()
    def __exit__(self, *exc):
        self.net.weight.mul_(2.0)  # HAZARD[a] saved
        return False
