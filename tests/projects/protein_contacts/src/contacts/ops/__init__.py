from .correction import background
from .correction import without_background as apc

__all__ = ["apc", "background"]
