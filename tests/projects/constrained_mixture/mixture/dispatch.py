from functools import singledispatch


@singledispatch
def project(what, low, high):
    """Brings values into [low, high]."""
    raise TypeError(f"cannot project a {type(what).__name__}")


@project.register
def _(what: float, low, high):
    return min(max(what, low), high)
