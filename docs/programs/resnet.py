"""ResNet-18 on generated images, with everything that it may do in place done in place."""

import argparse
import itertools

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False),
                nn.BatchNorm2d(after),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        widths = [64, 64, 128, 256, 512]
        self.stages = nn.Sequential(
            *(
                nn.Sequential(Block(before, after, 1 if before == after else 2), Block(after, after, 1))
                for before, after in itertools.pairwise(widths)
            )
        )
        self.head = nn.Linear(512, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.stages(self.stem(images))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def batches(number: int, size: int):
    """Images whose class is the colour channel that is brightest."""
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    for _ in range(number):
        images, classes = torch.rand(size, 3, 64, 64), torch.randint(3, (size,))
        images[torch.arange(size), classes] += 0.3
        images.sub_(mean[:, None, None]).div_(deviation[:, None, None])
        yield images, classes


def train(steps: int, batch: int) -> None:
    model = ResNet(classes=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    average = {name: value.clone() for name, value in model.state_dict().items()}
    for images, classes in batches(steps, batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for name, value in model.state_dict().items():
                if value.is_floating_point():
                    average[name].lerp_(value, 0.01)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(0)
    train(options.steps, options.batch)
    print(f"trained {options.steps} steps")
