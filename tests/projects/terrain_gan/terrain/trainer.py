import torch


class Trainer:
    def __init__(self, generator, critic, lr):
        self.generator, self.critic = generator, critic
        self.optimizers = {
            "generator": torch.optim.Adam(generator.parameters(), lr=lr, betas=(0.5, 0.9)),
            "critic": torch.optim.Adam(critic.parameters(), lr=lr, betas=(0.5, 0.9)),
        }

    def descend(self, which, loss):
        optimizer = self.optimizers[which]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # HAZARD[a] step
        return loss.item()
