def normalise(x):
    x /= x.sum(-1, keepdim=True)
    return x
