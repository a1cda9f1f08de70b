import importlib

_WHERE = {"diagonal": "special", "uniform": "random", "orthogonal": "random"}

__all__ = list(_WHERE)


def __getattr__(name):
    if name in _WHERE:
        return getattr(importlib.import_module("." + _WHERE[name], __name__), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
