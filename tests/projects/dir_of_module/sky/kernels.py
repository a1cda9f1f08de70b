def flat(x):
    return x.mean()


def trapezoid(x):
    x[..., 0] *= 0.5  # HAZARD[a] ends
    x[..., -1] *= 0.5
    return x.sum()
