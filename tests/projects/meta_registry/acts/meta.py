class Registered(type):
    classes = {}

    def __new__(mcs, name, bases, namespace):
        cls = super().__new__(mcs, name, bases, namespace)
        mcs.classes[name] = cls
        return cls
