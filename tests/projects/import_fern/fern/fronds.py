from .spiral import turn_


def curl(t):
    turn_(t, 0.3)  # SITE[a]
    return t


def curled(t):
    return turn_(t.clone(), 0.3)
