from functools import partial

from torch.nn import functional as F

LEAKY = partial(F.leaky_relu, negative_slope=0.2, inplace=True)  # SITE[a]
ELU = partial(F.elu, alpha=0.5)

DEFAULTS = {"act": ELU, "depth": 2}
