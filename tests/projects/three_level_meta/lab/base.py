from .meta import Tracked


class Probe(metaclass=Tracked):
    def read(self, x):
        return x
