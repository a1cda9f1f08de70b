from .blocks import *


def create(name, *args, **kwargs):
    return globals()[name](*args, **kwargs)
