def apply(x, by):
    x += by  # HAZARD[a] saved
    return x
