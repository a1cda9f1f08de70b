def total(weight):
    return weight.sum(0, keepdim=True)


def conserve(weight):
    """Water is neither lost nor made."""
    weight.clamp_(min=1e-6)  # HAZARD[a] leaf
    weight.div_(total(weight))  # HAZARD[a] leaf
