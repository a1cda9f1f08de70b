from .base import Limiter


class JointLimiter(Limiter):
    alias = "joint"

    def __call__(self, action):
        return action.clamp(-1, 1)


class WristLimiter(JointLimiter):
    alias = "wrist"

    def __call__(self, action):
        action[:, -1] = 0.0  # HAZARD[a] wrist
        return action
