import importlib

_WHERE = {"drop_path": ".drops", "drop_block": ".drops", "label_smooth": ".labels"}

__all__ = list(_WHERE)


def __getattr__(name):
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name], __name__), name)
    raise AttributeError(name)
