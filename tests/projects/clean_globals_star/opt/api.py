from .slow import *
from .fast import *


def op(name):
    return globals()[name]
