class Mount(type):
    def __init__(cls, name, bases, attrs):
        if not hasattr(cls, "plugins"):
            cls.plugins = {}
        else:
            cls.plugins[attrs.get("label", name)] = cls


class Step(metaclass=Mount):
    pass
