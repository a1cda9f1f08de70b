REGISTRY = {}


class register:
    def __init__(self, name):
        self.name = name

    def __call__(self, cls):
        REGISTRY[self.name] = cls
        return cls
