from .gate import GatedNet


def build_model(cfg):
    return GatedNet(cfg["width"], act=cfg["act"])


__all__ = ["build_model", "GatedNet"]
