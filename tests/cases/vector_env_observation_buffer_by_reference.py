"""Vectorised environment returns its internal numpy buffer; the rollout's last observation changes under the agent.

source: https://github.com/Farama-Foundation/SuperSuit/pull/116 (also openai/baselines#418, google-deepmind/dm_control#34)
"""

import numpy as np
import torch
from torch import nn

RAISES = "silent"


class VecPendulum:
    def __init__(self, n=3, horizon=4):
        self.n, self.horizon = n, horizon
        self.obs = np.zeros((n, 2), dtype=np.float32)

    def reset(self):
        self.obs = np.random.default_rng(0).normal(size=(self.n, 2)).astype(np.float32)
        self.t = 0
        return self.obs

    def step(self, action):
        self.obs[:, 0] += 0.1 * self.obs[:, 1]  # HAZARD silent
        self.obs[:, 1] += action - 0.2 * self.obs[:, 0]  # HAZARD silent
        self.t += 1
        return self.obs, -np.abs(self.obs).sum(1), self.t >= self.horizon


class VecPendulumCopy(VecPendulum):
    def reset(self):
        return super().reset().copy()

    def step(self, action):
        self.obs[:, 0] += 0.1 * self.obs[:, 1]
        self.obs[:, 1] += action - 0.2 * self.obs[:, 0]
        self.t += 1
        return self.obs.copy(), -np.abs(self.obs).sum(1), self.t >= self.horizon


class Rollout:
    def __init__(self):
        self.obs, self.actions, self.rewards = [], [], []

    def add(self, obs, action, reward):
        self.obs.append(torch.from_numpy(obs))
        self.actions.append(action)
        self.rewards.append(torch.as_tensor(reward))


def collect(env, policy):
    rollout, last_obs, done = Rollout(), env.reset(), False
    while not done:
        with torch.no_grad():
            action = torch.tanh(policy(torch.from_numpy(last_obs))).squeeze(1)
        new_obs, reward, done = env.step(action.numpy())
        rollout.add(last_obs, action, reward)
        last_obs = new_obs
    returns = torch.zeros(len(rollout.rewards), env.n)
    running = torch.zeros(env.n)
    for t in reversed(range(len(returns))):
        running = rollout.rewards[t] + 0.9 * running
        returns[t] += running
    return torch.stack(rollout.obs), torch.stack(rollout.actions), returns


def replay(env_cls):
    torch.manual_seed(0)
    policy = nn.Linear(2, 1)
    obs, actions, _ = collect(env_cls(), policy)
    with torch.no_grad():
        return torch.tanh(policy(obs)).squeeze(-1), actions


def bad():
    return replay(VecPendulum)


def good():
    return replay(VecPendulumCopy)
