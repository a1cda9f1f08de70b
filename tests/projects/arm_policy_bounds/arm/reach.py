import torch


def tip(angles):
    bends = angles.cumsum(-1)
    return torch.stack([bends.cos().sum(-1), bends.sin().sum(-1)], -1)


def reach_loss(policy, angles, goal):
    moved = angles + policy(angles, goal)  # SITE[a]
    miss = tip(moved)
    miss -= goal
    return miss.square().sum(-1).mean()
