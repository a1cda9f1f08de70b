from .losses import hinge, realism, roughness


class EagerLoop:
    def __init__(self, trainer):
        self.trainer = trainer

    def step(self, real, noise):
        t = self.trainer
        fake = t.generator(noise)
        critic_loss = hinge(t.critic(real), t.critic(fake.detach()))
        generator_loss = realism(t.critic(fake)) + roughness(fake)
        return t.descend("critic", critic_loss), t.descend("generator", generator_loss)  # SITE[a]


class Loop(EagerLoop):
    def step(self, real, noise):
        t = self.trainer
        fake = t.generator(noise)
        d = t.descend("critic", hinge(t.critic(real), t.critic(fake.detach())))
        g = t.descend("generator", realism(t.critic(fake)) + roughness(fake))
        return d, g
