"""A nested dataclass config says inplace=True by default; the block uses its gate twice.

mechanism: dataclass config with field(default_factory), activation built by name with getattr(nn, name)
"""
import torch

from blocks.config import ActConfig, BlockConfig
from blocks.gated import Gated

RAISES = "modified by an inplace operation"


def train(cfg):
    torch.manual_seed(0)
    Gated(cfg)(torch.rand(3, cfg.width)).mean().backward()  # SITE[a]


def bad():
    train(BlockConfig())


def good():
    train(BlockConfig(act=ActConfig(inplace=False)))
