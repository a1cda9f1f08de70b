"""A loss is built from a dictionary with a type, as mmcv does.

mechanism: isinstance of a string decides how a class registers, and what is built
"""
import torch

import mm
from mm.head import Head

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    Head().loss_by_feat(torch.randn(2, 4), torch.eye(3)[:2]).backward()


def good():
    torch.manual_seed(0)
    Head(dict(type="Brier")).loss_by_feat(torch.randn(2, 4), torch.eye(3)[:2]).backward()
