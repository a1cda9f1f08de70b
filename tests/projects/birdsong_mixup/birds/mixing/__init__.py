try:
    from birds_fastmix import blend
except ImportError:
    from .fallback import blend

from .draws import draw

__all__ = ["blend", "draw"]
