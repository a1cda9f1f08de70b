from .base import Limiter


class TanhLimiter(Limiter):
    alias = "tanh"

    def __call__(self, action):
        return action.tanh()
