from ops import call


def twice(name, x):
    return call(name, call(name, x))
