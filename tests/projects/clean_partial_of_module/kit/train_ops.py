def normalise(x):
    return x / x.sum(-1, keepdim=True)
