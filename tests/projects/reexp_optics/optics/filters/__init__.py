from .clamps import limit, limit_

__all__ = ["limit", "limit_"]
