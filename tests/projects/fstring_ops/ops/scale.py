def apply(x, by):
    x = x * by
    x += 1
    return x
