from torch import nn

from .ops import binary_sign, soft_threshold


class Base(nn.Module):
    steps = 2

    def __init__(self, pixels, atoms):
        super().__init__()
        self.encode = nn.Linear(pixels, atoms)
        self.lateral = nn.Linear(atoms, atoms, bias=False)
        self.decode = nn.Linear(atoms, pixels)

    def start(self, x):
        drive = self.encode(x)
        drive += 0.05 * binary_sign(drive)
        return drive


class FastLista(Base):
    def forward(self, x):
        drive = self.start(x)
        code = soft_threshold(drive)
        for _ in range(self.steps):
            drive -= self.lateral(code)  # HAZARD[a] saved
            code = soft_threshold(drive, 0.05)
        return code


class Lista(Base):
    def forward(self, x):
        drive = self.start(x)
        code = soft_threshold(drive)
        for _ in range(self.steps):
            drive = drive - self.lateral(code)
            code = soft_threshold(drive, 0.05)
        return code
