"""pyro-ppl 1.9.2, pyro/distributions/gaussian_scale_mixture.py:104: `-=` on the result of logsumexp, which kept it.

Every gradient of `GaussianScaleMixture.log_prob` fails, here that of a maximum likelihood fit.

    python -m pip install --no-deps --target /tmp/found pyro-ppl==1.9.2 pyro-api opt_einsum tqdm
    PYTHONPATH=/tmp/found python docs/found/pyro_gaussian_scale_mixture.py
"""

import sys

import torch
from _confirm import confirm
from pyro.distributions import GaussianScaleMixture


def loss() -> torch.Tensor:
    coord_scale = torch.ones(3, requires_grad=True)
    mixture = GaussianScaleMixture(coord_scale, torch.zeros(2), torch.tensor([1.0, 2.0]))
    return -mixture.log_prob(torch.tensor([0.3, -0.7, 1.1]))


if __name__ == "__main__":
    sys.exit(confirm(loss))
