import importlib


def instantiate(cfg):
    kwargs = {k: v for k, v in cfg.items() if k != "_target_"}
    module, name = cfg["_target_"].rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(**kwargs)
