def background(pairs, eps=1e-6):
    """Product of the row and column sums over the total."""
    rows = pairs.sum(-1, keepdim=True)
    columns = pairs.sum(-2, keepdim=True)
    total = pairs.sum((-1, -2), keepdim=True).abs()
    return rows * columns / (total + eps)


def without_background(pairs):
    """Average product correction."""
    pairs -= background(pairs)  # HAZARD[a] saved
    return pairs
