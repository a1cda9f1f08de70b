from functools import partial


def advance(state, rate, dt, inplace=False):
    """One Euler step."""
    if inplace:
        state.add_(rate, alpha=dt)  # HAZARD[a] saved
    else:
        state = state.add(rate, alpha=dt)
    return state


def make_stepper(kind, dt):
    if kind == "lean":
        return partial(advance, dt=dt, inplace=True)
    if kind == "exact":
        return partial(advance, dt=dt)
    raise ValueError(kind)
