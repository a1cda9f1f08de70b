from . import centred, scaled
from .base import Norm


def create(name):
    return Norm.registry[name]()
