"""DQN optimisation step clamps the gradients with the out-of-place method and drops the result.

source: https://github.com/pytorch/tutorials/pull/30 (same slip: facebookresearch/ParlAI#3068, lucidrains/flamingo-pytorch#10)
"""

from collections import deque, namedtuple

import torch
from torch import nn

RAISES = "silent"

Transition = namedtuple("Transition", "state action next_state reward")


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def all(self):
        return Transition(*(torch.stack(column) for column in zip(*self.memory)))


class Agent:
    gamma = 0.9

    def __init__(self):
        torch.manual_seed(0)
        self.policy = nn.Sequential(nn.Linear(3, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))
        self.target = nn.Sequential(nn.Linear(3, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=1e-3)

    def td_loss(self, batch):
        q = self.policy(batch.state).gather(1, batch.action).squeeze(1)
        with torch.no_grad():
            best = self.target(batch.next_state).amax(1)
            best.mul_(self.gamma).add_(batch.reward)
        return nn.functional.mse_loss(q, best)

    def clip(self):
        for param in self.policy.parameters():
            param.grad.data.clamp(-1, 1)  # HAZARD other

    def learn(self, batch):
        self.optimizer.zero_grad()
        self.td_loss(batch).backward()
        self.clip()
        self.optimizer.step()
        return torch.stack([p.grad.abs().max() for p in self.policy.parameters()]).max()


class FixedAgent(Agent):
    def clip(self):
        for param in self.policy.parameters():
            param.grad.data.clamp_(-1, 1)


def play(agent_cls):
    agent, memory = agent_cls(), ReplayMemory(50)
    for _ in range(20):
        state = torch.randn(3)
        memory.push(state, torch.randint(0, 2, (1,)), state + 0.1, 50 * torch.randn(()).abs())
    largest = agent.learn(memory.all())
    return largest, largest.clamp(max=1.0)


def bad():
    return play(Agent)


def good():
    return play(FixedAgent)
