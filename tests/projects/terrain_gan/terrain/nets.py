from torch import nn


def generator(noise, size):
    return nn.Sequential(nn.Linear(noise, 16), nn.ReLU(inplace=True), nn.Linear(16, size), nn.Sigmoid())


def critic(size):
    return nn.Sequential(nn.Linear(size, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1))
