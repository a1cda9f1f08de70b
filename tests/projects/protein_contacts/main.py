"""The contact head subtracts the background from its probabilities with a helper that works on its argument; sigmoid kept them.

mechanism: src layout, package __init__ re-exports the helper under another name, `from ..ops import`, registry of heads
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from contacts import build_head  # noqa: E402

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    head = build_head(name, width=6)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    residues = torch.randn(2, 7, 6)
    contacts = (torch.rand(2, 7, 7) > 0.7).float()
    loss = F.mse_loss(head(residues), contacts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bad():
    train("corrected")


def good():
    train("corrected_logits")
