from .base import Limiter, find
from .soft import TanhLimiter
from .hard import JointLimiter, WristLimiter
