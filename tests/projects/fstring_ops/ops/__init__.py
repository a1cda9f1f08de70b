import importlib

NAMES = ("scale", "shift")
OPS = {}

for _name in NAMES:
    _module = importlib.import_module(f"{__name__}.{_name}")
    OPS[_name] = _module.apply


def get(name):
    if name not in OPS:
        raise KeyError(f"no operator {name}; there are {sorted(OPS)}")
    return OPS[name]
