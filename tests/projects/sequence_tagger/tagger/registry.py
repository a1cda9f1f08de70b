class Registry:
    def __init__(self, kind):
        self.kind = kind
        self.entries = {}

    def register(self, name=None):
        def add(cls):
            key = name or cls.__name__.lower()
            if key in self.entries:
                raise KeyError(f"{self.kind} {key} is registered already")
            self.entries[key] = cls
            return cls

        return add

    def create(self, name, *args, **kwargs):
        try:
            cls = self.entries[name]
        except KeyError:
            raise KeyError(f"no {self.kind} {name}, only {sorted(self.entries)}") from None
        return cls(*args, **kwargs)


LAYERS = Registry("layer")
