"""Observation-history buffer shifts its columns by assigning one overlapping slice to the other without clone().

source: https://github.com/Alescontrela/AMP_for_hardware/pull/32 (same class: NM512/r2dreamer#9, pytorch/pytorch#906)
"""

import torch
from torch import nn

RAISES = "silent"


class ObservationBuffer:
    """Newest observation first: columns [0:n] are now, [n:2n] one step ago, ..."""

    def __init__(self, num_envs, num_obs, steps):
        self.num_obs, self.steps = num_obs, steps
        self.obs_buf = torch.zeros(num_envs, num_obs * steps)

    def reset(self, env_ids, obs):
        self.obs_buf[env_ids] = obs.repeat(1, self.steps)

    def insert(self, obs):
        self.obs_buf[:, self.num_obs :] = self.obs_buf[:, : -self.num_obs]  # HAZARD silent
        self.obs_buf[:, : self.num_obs] = obs

    def get(self, steps_ago):
        parts = [self.obs_buf[:, s * self.num_obs : (s + 1) * self.num_obs] for s in steps_ago]
        return torch.cat(parts, dim=-1)


class ClonedObservationBuffer(ObservationBuffer):
    def insert(self, obs):
        self.obs_buf[:, self.num_obs :] = self.obs_buf[:, : -self.num_obs].clone()
        self.obs_buf[:, : self.num_obs] = obs


class HistoryEnv:
    def __init__(self, buffer_cls, num_envs=3, num_obs=2, steps=4):
        self.state = torch.zeros(num_envs, num_obs)
        self.history = buffer_cls(num_envs, num_obs, steps)
        self.history.reset(torch.arange(num_envs), self.state)

    def step(self, actions):
        self.state += 0.5 * actions
        self.state[:, 0].clamp_(-2, 2)
        self.history.insert(self.state)
        return self.history.get([0, 1, 2, 3])


@torch.no_grad()
def rollout(buffer_cls, steps=6):
    torch.manual_seed(0)
    env, actor = HistoryEnv(buffer_cls), nn.Linear(8, 2)
    obs, frames = torch.zeros(3, 8), []
    for _ in range(steps):
        obs = env.step(torch.tanh(actor(obs)) + torch.randn(3, 2))
        frames.append(env.state.clone())
    return obs, torch.cat(frames[:-5:-1], dim=1)


def bad():
    return rollout(ObservationBuffer)


def good():
    return rollout(ClonedObservationBuffer)
