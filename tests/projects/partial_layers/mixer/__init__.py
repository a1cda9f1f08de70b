from . import models


def create(name, **kwargs):
    return getattr(models, name)(**kwargs)
