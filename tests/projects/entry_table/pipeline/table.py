import importlib

ENTRY_POINTS = {
    "soft": "pipeline.steps.soft:soften",
    "floor": "pipeline.steps.hard:floor",
    "floor_copy": "pipeline.steps.hard:floored",
}


def load(name):
    module, _, attribute = ENTRY_POINTS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
