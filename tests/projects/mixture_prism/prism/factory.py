from .bank import Bank


def make_bank(dim, size):
    return Bank(dim, size)
