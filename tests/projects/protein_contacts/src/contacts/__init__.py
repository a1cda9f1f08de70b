from .models.head import CorrectedHead, CorrectedLogitsHead
from .registry import build_head

__all__ = ["CorrectedHead", "CorrectedLogitsHead", "build_head"]
