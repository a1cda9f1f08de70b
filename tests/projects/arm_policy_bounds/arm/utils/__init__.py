from .decorators import bounded, bounded_copy
