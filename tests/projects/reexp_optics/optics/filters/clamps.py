def limit_(power, low=0.1, high=0.9):
    return power.clamp_(low, high)  # HAZARD[a] saved


def limit(power, low=0.1, high=0.9):
    return power.clamp(low, high)
