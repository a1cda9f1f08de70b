from . import layers  # noqa: F401  (registers the layers)
from .model import Tagger

_DEFAULTS = dict(words=12, tags=3, size=8, hidden_act="tanh", post="none")


def settings(**overrides):
    unknown = set(overrides) - set(_DEFAULTS)
    if unknown:
        raise KeyError(f"unknown settings {sorted(unknown)}")
    return {**_DEFAULTS, **overrides}
