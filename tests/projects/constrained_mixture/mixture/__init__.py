from .fitting import fit
from .model import Mixture

__all__ = ["Mixture", "fit"]
