from .tables import POOLERS


class Pooler:
    def __init_subclass__(cls, key=None, **kwargs):
        super().__init_subclass__(**kwargs)
        POOLERS[key or cls.__name__.lower()] = cls
