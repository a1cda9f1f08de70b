try:
    from bathy_cuda import share_
    BACKEND = "cuda"
except ImportError:
    BACKEND = "torch"

    def share_(x):
        """Despite its name this one copies."""
        total = x.sum(-1, keepdim=True)
        total += 1e-6
        return x / total
