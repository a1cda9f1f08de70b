from torch import nn

from .blocks import BLOCKS


class ResNet(nn.Module):
    def __init__(self, stem, stages, classes, norm_cfg, act_cfg, block="post"):
        super().__init__()
        self.stem = nn.Conv2d(3, stem, 3, padding=1)
        self.blocks = nn.ModuleList()
        for width in stages:
            self.blocks.append(BLOCKS[block](stem, width, norm_cfg=norm_cfg, act_cfg=act_cfg))
            stem = width
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(stem, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)  # SITE[a]
        return self.head(self.pool(x).flatten(1))
