from dataclasses import dataclass, field


@dataclass
class ActConfig:
    name: str = "Hardtanh"
    inplace: bool = True  # SITE[a]

    def kwargs(self):
        return {"inplace": self.inplace}


@dataclass
class BlockConfig:
    width: int = 4
    act: ActConfig = field(default_factory=ActConfig)
    bias: bool = True
