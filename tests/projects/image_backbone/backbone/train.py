import torch
import torch.nn.functional as F

from .resnet import ResNet


def schedule(optimizer, step, warmup=2, base=0.05):
    for group in optimizer.param_groups:
        group["lr"] = base * min(1.0, (step + 1) / warmup)


def fit(config, pictures, labels, steps=2):
    torch.manual_seed(0)
    model = ResNet(**config)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        schedule(optimizer, step)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pictures), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
