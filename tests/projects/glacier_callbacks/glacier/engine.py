from collections import defaultdict

import torch
import torch.nn.functional as F


class Engine:
    """A training loop with events after_loss, after_backward, after_step."""

    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr)
        self.handlers = defaultdict(list)

    def on(self, event, handler):
        self.handlers[event].append(handler)

    def fire(self, event):
        for handler in self.handlers[event]:
            handler()  # SITE[a]

    def step(self, pixels, labels):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(pixels).flatten(0, 1), labels.flatten())
        self.fire("after_loss")  # SITE[a]
        loss.backward()
        self.fire("after_backward")
        self.optimizer.step()
        self.fire("after_step")
