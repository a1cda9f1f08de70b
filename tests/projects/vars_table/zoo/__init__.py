from . import acts

CLASSES = {name: cls for name, cls in vars(acts).items() if isinstance(cls, type)}


def build(name):
    return CLASSES[name]()
