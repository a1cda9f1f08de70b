import torch


@torch.no_grad()
def uniform(layer, bound=0.1):
    for p in layer.parameters():
        p.uniform_(-bound, bound)


def orthogonal(layer):
    torch.nn.init.orthogonal_(layer.weight)
