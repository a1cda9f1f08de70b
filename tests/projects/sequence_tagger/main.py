"""The layer that a config names is registered by a module imported only for its side effect; it clips what tanh has kept.

mechanism: registry with decorator, `from . import layers  # noqa` for its side effect, name of the class in a dict of settings
"""
import torch

from tagger import Tagger, settings
from tagger.data import sentences
from tagger.loop import epoch

RAISES = "modified by an inplace operation"


def run(**overrides):
    torch.manual_seed(0)
    model = Tagger(**settings(**overrides))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return epoch(model, optimizer, sentences())


def bad():
    run(post="hard_clip")


def good():
    for post in ("soft_clip", "scale", "none"):
        assert run(post=post) > 0
    assert run(post="hard_clip", hidden_act="none") > 0
