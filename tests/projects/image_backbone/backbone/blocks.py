from torch import nn

from .builder import build_act, build_norm


class PostAct(nn.Module):
    """Convolution, norm, activation, twice; the sum is activated, too."""

    def __init__(self, cin, cout, norm_cfg, act_cfg):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.norm1 = build_norm(norm_cfg, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.norm2 = build_norm(norm_cfg, cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()
        self.act = build_act(act_cfg)

    def forward(self, x):
        y = self.act(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        y += self.skip(x)
        return self.act(y)


class PreAct(nn.Module):
    """Norm and activation stand before the convolutions."""

    def __init__(self, cin, cout, norm_cfg, act_cfg):
        super().__init__()
        self.norm1 = build_norm(norm_cfg, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.norm2 = build_norm(norm_cfg, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()
        self.act = build_act(act_cfg)  # SITE[a]

    def forward(self, x):
        y = self.conv1(self.act(self.norm1(x)))
        y = self.conv2(self.act(self.norm2(y)))
        y += self.skip(self.act(x))  # HAZARD[a] saved
        return y


BLOCKS = {"post": PostAct, "pre": PreAct}
