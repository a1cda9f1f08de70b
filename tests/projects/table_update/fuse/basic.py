from .table import TABLE


def add(x, y):
    x += y  # HAZARD[a] saved
    return x


def total(x, y):
    return (x + y).mul_(1.0)


TABLE.update({"add": add, "sum": total})
