def blend(x, partner, share):
    """share of x, and the rest of its partner's rows."""
    other = x[partner]
    x.mul_(share)  # HAZARD[a] saved
    x.add_(other * (1 - share))  # HAZARD[a] saved
    return x
