from .shrink import soft_threshold
from .signs import binary_sign

__all__ = ["binary_sign", "soft_threshold"]
