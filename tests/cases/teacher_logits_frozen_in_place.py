"""Distillation: the logits of the teacher are meant to be a constant, and are told so after they were computed.

torch refuses: a computed tensor is no leaf. The maintainers' fix is `detach()`.
"""

import torch
from torch import nn
from torch.nn import functional as F

RAISES = "you can only change requires_grad flags of leaf variables"


class Distilled(nn.Module):
    def __init__(self, width: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.teacher = nn.Linear(width, classes)
        self.student = nn.Linear(width, classes)

    def frozen(self, x: torch.Tensor) -> torch.Tensor:
        target = self.teacher(x).softmax(-1)
        target.requires_grad = False  # HAZARD other
        return F.kl_div(self.student(x).log_softmax(-1), target, reduction="batchmean")

    def detached(self, x: torch.Tensor) -> torch.Tensor:
        target = self.teacher(x).softmax(-1).detach()
        target.requires_grad = False
        return F.kl_div(self.student(x).log_softmax(-1), target, reduction="batchmean")


def bad() -> None:
    torch.manual_seed(0)
    Distilled().frozen(torch.randn(4, 8)).backward()


def good() -> None:
    torch.manual_seed(0)
    Distilled().detached(torch.randn(4, 8)).backward()
