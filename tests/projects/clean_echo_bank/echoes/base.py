import torch


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)

    def before_forward(self, batch):
        pass

    def after_backward(self, batch):
        pass

    def fit_batch(self, batch):
        self.before_forward(batch)
        self.optimizer.zero_grad()
        self.forward_backward(batch)
        self.after_backward(batch)
        self.optimizer.step()
