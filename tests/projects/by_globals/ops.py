def double_in_place(x):
    return x.mul_(2)  # HAZARD[a] saved


def double(x):
    x = x + 0
    return x.mul_(2)


def call(name, *args):
    return globals()[name](*args)  # SITE[a]
