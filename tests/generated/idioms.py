"""Short pieces of real training code, several lines each, with alternatives.

Each idiom begins with its operands' letters, the letter of its result and the kind of that result: fresh, alias (memory
of operand 0), constant (no grad), trained (surely requires grad), leaf (alias that is a leaf), or nested (fresh, and
the idiom defines a function). In the code `{0}`, `{1}` are the operands, `{r}` the result, `{s}`, `{k}`, `{c}` new
names and `{flag}` a boolean nobody knows; `«a|b»` is either `a` or `b`, and may break the line after a `|`. Most
alternatives differ in whether backward raises; torch says which.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Idiom(NamedTuple):
    source: str
    operands: str
    result: str
    kind: str


TEXT = """
# M -> V fresh
{r}, {s} = {0}.«max|min»(dim=1)
«{s}.zero_()|{s}[0] = 1|{r}.mul_(2.0)|{r} += 1.0»

# M -> M fresh
{r}, {s} = {0}.sort(dim=1)
«{s}.clamp_(max=2)|{r}.mul_(2.0)|{r}[0] = 0.0»

# M -> M fresh
{r}, {s} = torch.topk({0}, 4, dim=1)
«{s} //= 2|{r} *= 0.5|{s} = {s} // 2»

# M -> V alias
{r} = {0}.t().reshape(-1)[:4]

# M -> M alias
{r} = {0}.t().contiguous()

# M -> M constant
{r} = {0}.detach().clone()

# M -> M constant
{r} = {0}.clone().detach()

# M -> M leaf
{r} = {0}.detach().requires_grad_()

# M -> M alias
{r} = «torch.as_tensor({0})|{0}.type(torch.float32)|{0}.cpu()|{0}.to({0}.dtype)|{0}.to({0})»

# M -> M fresh
{r} = «{0}.to(torch.float64).float()|{0}.to(torch.float32, copy=True)|{0}.half().float()»

# M -> M fresh
{r} = «{0}[[0, 1, 2, 3]]|{0}[:, [1, 0, 3, 2]]|{0}[torch.arange(4)]|{0}.index_select(1, torch.arange(4))»

# M -> M alias
{r} = «{0}[0:4:1]|{0}[None][0]|{0}[..., :]|{0}.as_strided((4, 4), (4, 1))|{0}.squeeze()»

# M -> M alias
{r} = «{0}.movedim(0, 1)|{0}.ravel().view(4, 4)|torch.atleast_2d({0})|{0}.swapdims(0, 1)|{0}.mT»

# M -> M fresh
{s} = {0} * 1.0
{r} = {s}.exp()
{s}.detach().numpy()[0] = 0.0

# M -> M fresh
{s} = {0} * 1.0
{r} = {s} * {s}
«{s}.data|{s}.detach()»«.zero_()|[0] = 0.0|.add_(1.0)»

# M -> M fresh
{s} = {0} * 1.0
{k} = {s}.«data|detach()|clone()»
{r} = {s}.«sin|exp|neg»()
{k}.mul_(0.5)

# M -> M fresh
{s} = {0}.exp()
{r} = {s} * 2.0
«del {s}|{s} = None|{s} = {s} + 1.0»

# MM -> M fresh
{r} = torch.zeros(4, 4)
for i in range(4):
    for j in range(4):
        {r}[i, j] = {0}[i, j] «*|+» «{1}[j, i]|{r}[i - 1, j]»

# MM -> M fresh
{r} = {0}.clone()
for t in range(1, {0}.«size(0)|shape[0]»):
    {r}[:, t] «=|+=|*=» «torch.sigmoid({r}[:, t - 1])|{r}[:, t - 1].clone()|{0}[:, t] * {1}[t]|2.0 * {1}[t]»

# M -> V fresh
{r} = «{0}[0]|{0}[0].clone()|0.0»
for t in range(1, 4):
    {r} = {r} + {0}[t]«|.exp()»

# M -> V fresh
{s} = {0} * 1.0
{r} = «{s}[0]|{s}[0].clone()»
for t in range(1, 4):
    {r} += «{s}[t]|{s}[t].exp()|{s}[t] * {s}[t]»

# MV -> M fresh
{s} = {0} * 1.0
for t in range(3):
    {s}[t + 1] «=|+=» «{s}[t]|{s}[t] * {1}|torch.tanh({s}[t])|{s}[t].clone() * {1}»
{r} = {s} * 2.0

# M -> M fresh
{s} = []
for t in range(4):
    {s}.append(«{0}[t] * 2.0|{0}[t].exp()»)
«{s}[-1].add_(1.0)|{s}[0] *= 2.0|{s}[1] = {s}[0]»
{r} = torch.stack({s})

# MM -> M fresh
{r} = None
for t in range(3):
    if {r} is None:
        {r} = {0} * 1.0
    else:
        «{r} = torch.tanh({r} + {1})|{r} *= {1}|{r} = {r} * {1}|{r} += {r}.exp()»

# M -> S fresh
{s} = {0} * 1.0
{k} = []
for i in range(3):
    {k}.append({s}.«pow(2).sum()|sum()|mean()|exp().sum()»)
    «{s} += 1.0|{s} = {s} + 1.0|{s}.mul_(0.5)»
{r} = «sum({k})|torch.stack({k}).sum()»

# MM -> M fresh
{s} = {0} * 1.0
for i in range(3):
    {k} = «torch.relu({s})|{s} + 1.0|{s} * {1}|{s}.clone()»
    {k} «+=|=» {s}
    {s} = {k}
{r} = {s} * 2.0

# MM -> S fresh
{s} = torch.zeros(4, 4)
{r} = 0.0
for i in range(3):
    {s}«[i]|[:, i]» = {0}[i]
    {r} = {r} + «{s}.sum()|({s} * {1}).sum()|{s}.exp().sum()»

# M -> V fresh
{s} = {0} * 1.0
for i in range(2):
    for {k} in «{s}.clone()|{s}»:
        {r} = {k} «+ 1.0|* {k}»
    {s} = {s} * 2.0

# M -> M trained
{s} = nn.Linear(4, 4)
{r} = {s}({0})
with torch.no_grad():
    «{s}.weight.mul_(0.9)|{s}.bias.zero_()|{s}.weight += 0.1|{s}.weight.copy_({s}.weight * 0.5)|
        {s}.weight[0] = 0.0»

# M -> M trained
{s} = nn.Linear(4, 4)
{r} = {s}({0}«|.detach()»)
«{s}.weight.data.mul_(0.9)|nn.init.zeros_({s}.weight)|nn.init.zeros_({s}.bias)|
        {s}.load_state_dict({s}.state_dict())|{s}.reset_parameters()|
        nn.utils.clip_grad_norm_({s}.parameters(), 1.0)|{s}.zero_grad()|{s}.eval()»

# M -> M trained
{s} = nn.Linear(4, 4)
{k} = nn.Linear(4, 4)
{r} = «{s}|{k}»({0})
with torch.no_grad():
    for p, q in zip({s}.parameters(), {k}.parameters()):
        «q.mul_(0.9).add_(p, alpha=0.1)|q.copy_(p)|q.data.copy_(p.data)»

# M -> M trained
{s} = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
{r} = {s}({0})
for p in {s}.parameters():
    «p.data.clamp_(-1.0, 1.0)|p.grad = None|p.requires_grad_(True)»

# M -> M trained
{s} = «[nn.Linear(4, 4), nn.Tanh(), nn.ReLU(inplace=True)]|[nn.Linear(4, 4), nn.ReLU(inplace=True)]|
        [nn.Tanh(), nn.Linear(4, 4), nn.SiLU(inplace=True)]»
{k} = nn.Sequential(*{s})
{r} = {k}({0})

# M -> M fresh
{s} = nn.ModuleDict({{'a': «nn.Sigmoid()|nn.LayerNorm(4)», 'b': nn.ReLU(inplace=True)}})
{r} = {s}['b']({s}['a']({0}))

# M -> M trained
{s} = nn.ReLU(inplace=True)
{k} = nn.Sequential(nn.Linear(4, 4), {s}, «nn.Linear(4, 4)|nn.Identity()|nn.Softmax(dim=-1)», {s})
{r} = {k}({0})

# M -> M fresh
{s} = nn.Dropout(0.5, inplace=True)
«{s}.eval()|{s}.train()|{s}.train(False)»
{r} = {s}(torch.sigmoid({0}))

# M -> M trained
{s} = nn.Sequential(«nn.ReLU(), nn.Linear(4, 4)|nn.Linear(4, 4), nn.ReLU()|nn.Linear(4, 4), nn.GELU()»)
{r} = {s}({0})
{r} += 1.0

# M -> M fresh
{s} = «nn.ReLU(inplace=True)|nn.Tanh()» if {flag} else nn.GELU()
{r} = {s}({0}«.sigmoid()| + 1.0»)

# M -> M fresh
{s} = partial(F.relu, inplace=«True|False»)
{r} = {s}(«torch.sigmoid({0})|{0} * 2.0»)

# M -> M fresh
{s} = [«torch.sigmoid|torch.sin|torch.neg», torch.relu_]
{r} = {0} * 1.0
for fn in {s}:
    {r} = fn({r})

# M -> M fresh
{s} = {{'a': torch.tanh, 'b': F.relu_}}
{r} = {s}['b'](«{s}['a']({0})|{0} * 2.0»)

# M -> M trained
{s} = nn.BatchNorm1d(4)
{k} = {s}({0})
{r} = «{s}({k})|{k}»
«{k} += 1.0|{k} = {k} + 1.0|{r}.relu_()»

# i -> M trained
{s} = nn.Embedding(4, 4)
{r} = {s}({0})
«{0}[0] = 0|{r}.mul_(2.0)|{r} += 1.0|{0}.zero_()»

# Mi -> M fresh
{r} = torch.zeros(4, 4).«index_add_|index_copy_»(0, {1}, {0})
«{1}.zero_()|{r} *= 2.0»

# M -> M fresh
{r} = torch.empty_like({0}).copy_({0})
«{r} += 1.0|{r}[0] = {0}[1] * {0}[2]»

# Mj -> M fresh
{r} = torch.zeros(4, 4).scatter_(1, {1}, {0})
«{1}.zero_()|{r}.exp_()»

# M -> M fresh
{r} = {0}.new_zeros(4, 4)
{r}[:, 0] = {0}[:, 0]
{r}[:, 1] = «{r}[:, 0] * {0}[:, 1]|{0}[:, 1].exp()»

# Md -> M constant
{r} = torch.empty(4, 4)
torch.mul({0}.detach(), {1}, out={r})

# M -> M fresh
{s} = torch.randn(4, 4)
{r} = {0} @ {s}«|.clone()|.detach()»
{s}[:1] = {0}[:1].detach()

# M -> M fresh
{s} = torch.ones(4)
{r} = «{0} - {s}|{0} / {s}|{0} * {s}|{0} / ({s} + 1.0)|{0} + {s}.exp()»
{s}.mul_(0.9).add_({0}.detach().mean(0), alpha=0.1)

# M -> M fresh
{s} = {0}.clone()
{s}[{0} < 0] = 0.0
{r} = {s} / {s}.sum(1, keepdim=True)
«{s}.clamp_(min=0.0)|{s} = {s} + 1.0|{r} *= 2.0»

# M -> M fresh
{s} = ({0} > 0)«.float()|»
{r} = {0} «*|+» {s}
«{s}.zero_()|{s}[0] = 1|{s} = {s} * 2»

# M -> M fresh
{s} = {0} - {0}.max(1, keepdim=True).values
{r} = {s}.exp«()|_()»
«{r} /= {r}.sum(1, keepdim=True)|{r} = {r} / {r}.sum(1, keepdim=True)»

# MV -> M fresh
{s} = {0}.mean(-1, keepdim=True)
{k} = {0}.var(-1, keepdim=True)
{k} += 1e-5
{k}.«rsqrt_|sqrt_»()
{r} = ({0} - {s}) * {k}
«{k}.mul_(2.0)|{r} *= {1}|{r}.mul_({1}).add_({1})|{s}.zero_()»

# M -> M fresh
{r} = {0}.«sigmoid|tanh|clone|relu»()
{r} «*=|+=|-=» {0}

# MM -> M fresh
{s} = {0} @ {1}.t()
{s} /= 2.0
{s}.masked_fill_(torch.ones(4, 4).tril() == 0, -1e9)
{k} = {s}.softmax(-1)
«pass|{k}[:, 0] = 0.0|F.dropout({k}, 0.1, inplace=True)|{k} = F.dropout({k}, 0.1)|{s}.zero_()»
{r} = {k} @ {1}

# M -> M fresh
{s} = {0} * 1.0
{r} = F.layer_norm({s}, (4,))
«{r} += {s}|{s} += {r}|{r} = {r} + {s}|{s}.add_(1.0)»

# MM -> M fresh
{s} = {0} * 1.0
{k} = F.relu({s})
{k} = {k} @ {1}
«{k} += {s}|{s} += {k}»
{r} = F.relu({k}«|, inplace=True»)

# MM -> M fresh
{s}, {k} = (torch.cat([{0}, {1}], dim=1)).chunk(2, dim=1)
{r} = torch.sigmoid({s}) * torch.tanh({k})
«{r} += {1}|{r}.mul_(2.0)»

# M -> M fresh
{s} = {0} * 1.0
{k} = {s}.norm(dim=1, keepdim=True)
«{k}.clamp_(min=1e-6)|{k} = {k}.clamp(min=1e-6)|{k} += 1e-6»
«{s} /= {k}|{s} = {s} / {k}»
{r} = {s} * 2.0

# MM -> V fresh
{s} = ({0} - {1}).pow(2).sum(1)
«{s} += 1e-6|{s}.add_(1e-6)|{s} = {s} + 1e-6»
{k} = {s}.sqrt()
«pass|{k} += 1.0|{s}.zero_()»
{r} = 1.0 / {k}

# M -> M fresh
{s} = {0} * 1.0
{k} = {s}[:, :2]
{c} = {s}[:, 2:]
«{k} += {c}|{k} *= {c}|{k}.add_(1.0)»
{r} = torch.cat([«{k}, {c}|{k}.exp(), {c}|{k} * {c}, {c}»], dim=1)
«pass|{s}[0] = 0.0|{c}.mul_(0.5)»

# M -> M nested
{s} = {0} * 1.0
def {k}():
    nonlocal {s}
    {s} = torch.sigmoid({s})
    return {s}
{r} = {k}()
«{s} += 1.0|{s} = {s} + 1.0|{k}()»

# M -> M nested
{s} = {0} * 1.0
def {k}(scale):
    «{s}.mul_(scale)|{s}.data.mul_(scale)|return {s} * scale»
{r} = {s}.«exp|neg|sin»()
for i in range(2):
    {k}(0.5)

# M -> M nested
{s} = {{}}
def {k}(key, v):
    {s}[key] = v
    return v
{r} = {k}('a', torch.exp({0}))
«{s}['a'].mul_(2.0)|{s}['a'] = 1.0»
"""


def _idioms() -> list[Idiom]:
    found = []
    for block in TEXT.strip().split("\n\n"):
        head, source = block.split("\n", 1)
        operands, result, kind = head.removeprefix("# ").replace("-> ", "").split()
        found.append(Idiom(re.sub(r"\|\n *", "|", source), operands, result, kind))
    return found


IDIOMS = _idioms()
