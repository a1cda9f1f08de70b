import torch
import torch.nn.functional as F
from torch import nn


def xywh_to_xyxy(boxes):
    out = boxes.clone()
    out[:, :2] -= boxes[:, 2:] / 2
    out[:, 2:] = out[:, :2] + boxes[:, 2:]
    return out


def iou(a, b):
    area_a = (a[:, 2:] - a[:, :2]).clamp_(min=0).prod(1)
    area_b = (b[:, 2:] - b[:, :2]).clamp_(min=0).prod(1)
    lt = torch.max(a[:, :2], b[:, :2])
    rb = torch.min(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    return inter / (area_a + area_b - inter + 1e-6)


@torch.no_grad()
def nms(boxes, scores, threshold=0.5):
    order = scores.argsort(descending=True)
    keep = torch.zeros_like(scores, dtype=torch.bool)
    alive = torch.ones_like(keep)
    for i in order:
        if not alive[i]:
            continue
        keep[i] = True
        alive &= iou(boxes[i].expand_as(boxes), boxes) < threshold
    return keep


@torch.no_grad()
def assign(anchors, targets):
    quality = torch.stack([iou(anchors, t.expand_as(anchors)) for t in targets])
    best = quality.max(0)
    index = best.indices
    index[best.values < 0.1] = -1
    for g in range(len(targets)):
        index[quality[g].argmax()] = g
    return index


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.SiLU(inplace=True))
        self.box, self.cls = nn.Linear(8, 4), nn.Linear(8, 3)
        nn.init.constant_(self.cls.bias, -2.0)

    def forward(self, x):
        f = self.trunk(x)
        raw = self.box(f)
        boxes = raw.clone()
        boxes[:, 2:] = F.softplus(raw[:, 2:])
        return xywh_to_xyxy(boxes), self.cls(f)


def focal(logits, target, gamma=2.0):
    p = logits.sigmoid()
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    return (ce * (1 - pt) ** gamma).sum()


def run():
    torch.manual_seed(0)
    net = Head()
    boxes, logits = net(torch.randn(5, 4))
    gt = torch.tensor([[0.0, 0, 1, 1], [-1, -1, 0.5, 0.5]])
    labels = torch.tensor([0, 2])
    index = assign(boxes.detach(), gt)
    fg = index >= 0
    target = torch.zeros_like(logits)
    target[fg, labels[index[fg]]] = 1
    loss = focal(logits, target)
    loss += (1 - iou(boxes[fg], gt[index[fg]])).sum()
    loss /= max(fg.sum().item(), 1)
    loss.backward()
    return [loss.detach(), nms(boxes.detach(), logits.detach().max(1).values), *(p.grad for p in net.parameters())]
