from functools import partial

from . import bijections, priors


def _make(module, name):
    try:
        return getattr(module, name)
    except AttributeError:
        raise ValueError(f"no {name} in {module.__name__}")


make_bijection = partial(_make, bijections)
make_prior = partial(_make, priors)
