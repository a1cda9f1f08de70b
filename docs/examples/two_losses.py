"""A critic that is stepped between the forward and the backward pass of the actor's loss."""

import torch
from torch import nn


def train_broken(actor, critic, observation):
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    actor_loss = -critic(actor(observation)).mean()
    critic_loss = critic(observation).square().mean()
    critic_loss.backward()
    critic_optimizer.step()  # TIP106: the graph of actor_loss saved the critic's weights
    actor_loss.backward()


def train_fixed(actor, critic, observation):
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    critic_loss = critic(observation).square().mean()
    critic_loss.backward()
    critic_optimizer.step()
    actor_loss = -critic(actor(observation)).mean()
    actor_loss.backward()


def train(steps):
    torch.manual_seed(0)
    actor = nn.Linear(4, 4)
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    steps(actor, critic, torch.randn(5, 4))


if __name__ == "__main__":
    train(train_fixed)
    train(train_broken)
