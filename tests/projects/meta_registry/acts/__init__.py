from .kinds import Clip, Soft
from .meta import Registered


def build(name):
    return Registered.classes[name]()
