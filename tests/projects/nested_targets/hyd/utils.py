import importlib


def get_obj_from_str(string):
    module, cls = string.rsplit(".", 1)
    return getattr(importlib.import_module(module, package=None), cls)


def instantiate(config):
    if not isinstance(config, dict) or "_target_" not in config:
        return config
    kwargs = {key: instantiate(value) for key, value in config.items() if key != "_target_"}
    return get_obj_from_str(config["_target_"])(**kwargs)
