class Registry:
    def __init__(self):
        self.items = {}

    def add(self, name, function):
        self.items[name] = function

    def get(self, name):
        return self.items[name]


TABLE = {}
REGISTRY = Registry()
