import importlib


def noise_plugin():
    """Loaded late: some plugins are slow to import."""
    return importlib.import_module(".noise", __package__)
