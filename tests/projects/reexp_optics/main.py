"""mechanism: star import of a package that re-exports, clamp in place"""
import torch

from optics import *

RAISES = "modified by an inplace operation"


def intensity(field, limiter):
    power = field.sigmoid()
    return limiter(power).mean()  # SITE[a]


def bad():
    intensity(torch.randn(5, requires_grad=True), limit_).backward()  # SITE[a]


def good():
    intensity(torch.randn(5, requires_grad=True), limit).backward()
