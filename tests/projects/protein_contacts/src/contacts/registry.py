HEADS = {}


def register(name):
    def keep(cls):
        HEADS[name] = cls
        return cls
    return keep


def build_head(name, **kwargs):
    return HEADS[name](**kwargs)
