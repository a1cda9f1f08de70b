import pkg.layers as layers


def build(name):
    return layers.__dict__[name]()
