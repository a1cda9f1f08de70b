from .table import head


@head
def floor(x):
    x[x < 1.5] = 1.5  # HAZARD[a] saved
    return x
