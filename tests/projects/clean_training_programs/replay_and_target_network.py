import torch
from torch import nn


class Replay:
    def __init__(self, size, obs_dim):
        self.obs = torch.zeros(size, obs_dim)
        self.next_obs = torch.zeros(size, obs_dim)
        self.action = torch.zeros(size, dtype=torch.long)
        self.reward = torch.zeros(size)
        self.done = torch.zeros(size)
        self.size, self.ptr, self.full = size, 0, False

    def push(self, obs, action, reward, next_obs, done):
        i = self.ptr
        self.obs[i] = obs
        self.next_obs[i] = next_obs
        self.action[i] = action
        self.reward[i] = reward
        self.done[i] = float(done)
        self.ptr = (i + 1) % self.size
        self.full |= self.ptr == 0

    def sample(self, n, gen):
        high = self.size if self.full else self.ptr
        idx = torch.randint(0, high, (n,), generator=gen)
        return self.obs[idx], self.action[idx], self.reward[idx], self.next_obs[idx], self.done[idx]


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 16), nn.ReLU(inplace=True))
        self.adv, self.val = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, x):
        h = self.body(x)
        adv = self.adv(h)
        adv -= adv.mean(1, keepdim=True)
        return adv + self.val(h)


class Agent:
    def __init__(self, tau=0.1, gamma=0.9):
        self.online, self.target = Dueling(), Dueling()
        self.target.load_state_dict(self.online.state_dict())
        self.opt = torch.optim.Adam(self.online.parameters(), 1e-3)
        self.tau, self.gamma = tau, gamma

    @torch.no_grad()
    def soft_update(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(1 - self.tau).add_(o, alpha=self.tau)

    def learn(self, batch):
        obs, action, reward, next_obs, done = batch
        q = self.online(obs).gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = self.online(next_obs).argmax(1, keepdim=True)
            target = self.target(next_obs).gather(1, best).squeeze(1)
            target *= 1 - done
            target *= self.gamma
            target += reward
        loss = nn.functional.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online.parameters(), 1.0)
        self.opt.step()
        self.soft_update()
        return loss.detach()


def run():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    agent, memory = Agent(), Replay(8, 3)
    obs = torch.randn(3)
    losses = []
    for step in range(12):
        nxt = obs * 0.9
        nxt[step % 3] += 1
        memory.push(obs, step % 2, nxt.sum(), nxt, step % 5 == 4)
        obs = nxt
        if step > 4:
            losses.append(agent.learn(memory.sample(4, gen)))
    return losses + [p.detach() for p in agent.target.parameters()]
