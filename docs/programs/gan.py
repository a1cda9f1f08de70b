"""A DCGAN on generated images. The generator's score is taken before the discriminator's update, as it once worked."""

import argparse
import itertools

import torch
from torch import nn
from torch.nn import functional as F


class Generator(nn.Module):
    """From a vector of noise to an image of 64x64."""

    def __init__(self, noise: int = 100, width: int = 64) -> None:
        super().__init__()
        widths = [8 * width, 4 * width, 2 * width, width]
        layers = [nn.ConvTranspose2d(noise, widths[0], 4, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True)]
        for narrower, wider in zip(widths[1:], widths, strict=False):
            layers += [
                nn.ConvTranspose2d(wider, narrower, 4, 2, 1, bias=False),
                nn.BatchNorm2d(narrower),
                nn.ReLU(inplace=True),
            ]
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.layers(noise[:, :, None, None])


class Discriminator(nn.Module):
    """From an image of 64x64 to a score."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        widths = [3, width, 2 * width, 4 * width, 8 * width]
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, 4, 2, 1, bias=False) for before, after in itertools.pairwise(widths)
        )
        self.norms = nn.ModuleList([nn.Identity(), *map(nn.BatchNorm2d, widths[2:])])
        self.score = nn.Conv2d(widths[-1], 1, 4, bias=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = images
        for convolution, norm in zip(self.layers, self.norms, strict=True):
            x = norm(convolution(x))
            x = F.leaky_relu_(x, 0.2)
        return self.score(x).flatten()


def initialise(module: nn.Module) -> None:
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def photographs(number: int) -> torch.Tensor:
    """Discs on a dark ground, in the range of tanh."""
    grid = torch.linspace(-1, 1, 64)
    centre, radius = torch.rand(number, 2, 1, 1) - 0.5, 0.2 + 0.3 * torch.rand(number, 1, 1)
    inside = (grid[None, :, None] - centre[:, 0]).square() + (grid[None, None, :] - centre[:, 1]).square() < radius**2
    return inside[:, None].float().repeat(1, 3, 1, 1) * 1.8 - 0.9


def train(steps: int, batch: int) -> None:
    generator, discriminator = Generator(), Discriminator()
    generator.apply(initialise)
    discriminator.apply(initialise)
    update_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    update_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real, false = torch.ones(batch), torch.zeros(batch)
    for _ in range(steps):
        fake = generator(torch.randn(batch, 100))
        believed = F.binary_cross_entropy_with_logits(discriminator(fake), real)

        update_discriminator.zero_grad()
        seen = F.binary_cross_entropy_with_logits(discriminator(photographs(batch)), real)
        seen = seen + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), false)
        seen.backward()
        update_discriminator.step()

        update_generator.zero_grad()
        believed.backward()
        update_generator.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(0)
    train(options.steps, options.batch)
    print(f"trained {options.steps} steps")
