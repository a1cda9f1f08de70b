import functools


def bounded(low, high):
    """The result is kept within the bounds."""
    def decorate(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            out = function(*args, **kwargs)
            out.clamp_(low, high)  # HAZARD[a] saved
            return out
        return inner
    return decorate


def bounded_copy(low, high):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs).clamp(low, high)
        return inner
    return decorate
