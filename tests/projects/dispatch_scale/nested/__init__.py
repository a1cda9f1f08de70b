from . import implementations
