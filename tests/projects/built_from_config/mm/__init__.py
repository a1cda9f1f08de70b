from . import losses
