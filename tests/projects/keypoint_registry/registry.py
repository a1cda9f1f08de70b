"""Names of parts, filled by a decorator; the parts are built from dicts."""

HEADS = {}
POSTPROCESS = {}


def register(table, name=None):
    def wrap(cls):
        table[name or cls.__name__] = cls
        return cls
    return wrap


def build(table, cfg):
    cfg = dict(cfg)
    kind = cfg.pop("type")
    if kind not in table:
        raise KeyError(f"{kind} is not registered, there are {sorted(table)}")
    return table[kind](**cfg)
