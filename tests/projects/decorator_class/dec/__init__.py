from . import shapes
