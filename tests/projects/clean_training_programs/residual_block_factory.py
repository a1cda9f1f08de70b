import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    expansion = 2

    def __init__(self, inplanes, planes, stride=1, drop=0.0):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes * self.expansion, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes * self.expansion)
        self.act = nn.ReLU(inplace=True)
        self.drop = nn.Dropout2d(drop, inplace=True)
        self.short = None
        if stride != 1 or inplanes != planes * self.expansion:
            self.short = nn.Sequential(
                nn.Conv2d(inplanes, planes * self.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * self.expansion),
            )

    def forward(self, x):
        skip = x if self.short is None else self.short(x)
        out = self.act(self.bn1(self.conv1(x)))
        out = self.drop(self.bn2(self.conv2(out)))
        out += skip
        return self.act(out)


class Net(nn.Module):
    def __init__(self, widths=(4, 4, 8)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 1, 1), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True))
        stages, inplanes = [], widths[0]
        for i, w in enumerate(widths):
            stages.append(Block(inplanes, w, 1 + (i > 0), 0.1))
            inplanes = w * Block.expansion
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inplanes, 5)
        self._init()

    def _init(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                m.bias.data.zero_()
        with torch.no_grad():
            self.head.weight.mul_(0.1)
            self.head.bias.fill_(0.0)

    def forward(self, x):
        f = self.stages(self.stem(x))
        return self.head(F.adaptive_avg_pool2d(f, 1).flatten(1))


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    out = []
    for _ in range(2):
        loss = F.cross_entropy(net(torch.randn(4, 3, 8, 8)), torch.tensor([0, 1, 2, 3]))
        opt.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.grad.clamp_(-1, 1)
        opt.step()
        out.append(loss.detach())
    return out + [p.grad for p in net.parameters()]
