"""DQN builds its target from q.detach() and writes the TD target into it: prediction and target are the same memory.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "silent"


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.ReLU(inplace=True))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


def td_target(target_net, reward, nxt, gamma=0.9):
    with torch.no_grad():
        return reward + gamma * target_net(nxt).max(1).values


def bad_loss(net, target_net, obs, action, reward, nxt):
    q = net(obs)
    target = q.detach()
    target[torch.arange(len(q)), action] = td_target(target_net, reward, nxt)  # HAZARD silent
    return nn.functional.mse_loss(q, target)


def good_loss(net, target_net, obs, action, reward, nxt):
    q = net(obs)
    target = q.detach().clone()
    target[torch.arange(len(q)), action] = td_target(target_net, reward, nxt)
    return nn.functional.mse_loss(q, target)


def loss_of(fn):
    torch.manual_seed(0)
    net, target_net = QNet(), QNet()
    return fn(net, target_net, torch.randn(4, 3), torch.tensor([0, 1, 1, 0]), torch.ones(4), torch.randn(4, 3)).detach()


def bad():
    return loss_of(bad_loss), loss_of(good_loss)


def good():
    return loss_of(good_loss), loss_of(good_loss)
