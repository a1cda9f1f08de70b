"""Back-tracking line search narrows the set of active samples by assigning through the mask to the mask.

source: https://github.com/khorrams/IGOS_pp/issues/2
"""

import torch
from torch import nn

RAISES = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def saliency_loss(model, images, masks, labels):
    kept = images * masks
    kept += (1 - masks) * images.mean((2, 3), keepdim=True)
    return -model(kept).log_softmax(-1).gather(1, labels[:, None]).squeeze(1)


def line_search(model, images, masks, grads, labels, alpha=4.0, beta=1e-4, decay=0.3, limit=5):
    with torch.no_grad():
        base = saliency_loss(model, images, masks, labels)
        slope = grads.flatten(1).square().sum(1) * beta
        alphas = torch.full((len(images),), alpha)
        active = torch.ones(len(images), dtype=torch.bool)
        for _ in range(limit):
            trial = (masks - alphas.view(-1, 1, 1, 1) * grads).clamp_(0, 1)
            losses = saliency_loss(model, images[active], trial[active], labels[active])
            active[active] = losses > base[active] - alphas[active] * slope[active]  # HAZARD other
            if not active.any():
                break
            alphas[active] *= decay
    return alphas


def line_search_fixed(model, images, masks, grads, labels, alpha=4.0, beta=1e-4, decay=0.3, limit=5):
    with torch.no_grad():
        base = saliency_loss(model, images, masks, labels)
        slope = grads.flatten(1).square().sum(1) * beta
        alphas = torch.full((len(images),), alpha)
        active = torch.ones(len(images), dtype=torch.bool)
        for _ in range(limit):
            trial = (masks - alphas.view(-1, 1, 1, 1) * grads).clamp_(0, 1)
            losses = saliency_loss(model, images[active], trial[active], labels[active])
            active[active.clone()] = losses > base[active] - alphas[active] * slope[active]
            if not active.any():
                break
            alphas[active] *= decay
    return alphas


def explain(search):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 3)).eval()
    images, labels = torch.rand(4, 3, 6, 6), torch.tensor([0, 1, 2, 0])
    masks = torch.full((4, 1, 6, 6), 0.5, requires_grad=True)
    for _ in range(2):
        saliency_loss(model, images, masks, labels).sum().backward()
        alphas = search(model, images, masks.detach(), masks.grad, labels)
        with torch.no_grad():
            masks -= alphas.view(-1, 1, 1, 1) * masks.grad
            masks.clamp_(0, 1)
        masks.grad = None


def bad():
    explain(line_search)


def good():
    explain(line_search_fixed)
