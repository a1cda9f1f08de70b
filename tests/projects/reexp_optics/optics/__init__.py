from .filters import *

__all__ = ["limit", "limit_"]
