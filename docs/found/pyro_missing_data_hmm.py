"""pyro-ppl 1.9.2, pyro/contrib/mue/missingdatahmm.py:176, 180, 183: rows of a table that logsumexp read are rewritten.

Every gradient of `MissingDataDiscreteHMM.filter` and `.smooth` fails. That of `.log_prob`, which keeps no such table,
runs: that is the control.

    python -m pip install --no-deps --target /tmp/found pyro-ppl==1.9.2 pyro-api opt_einsum tqdm
    PYTHONPATH=/tmp/found python docs/found/pyro_missing_data_hmm.py
"""

import sys

import torch
from _confirm import confirm
from pyro.contrib.mue.missingdatahmm import MissingDataDiscreteHMM

OBSERVED = torch.nn.functional.one_hot(torch.tensor([0, 1, 3]), 4).float()


def hmm() -> MissingDataDiscreteHMM:
    torch.manual_seed(0)
    return MissingDataDiscreteHMM(*(torch.randn(*s).log_softmax(-1).requires_grad_() for s in ((2,), (2, 2), (2, 4))))


if __name__ == "__main__":
    sys.exit(confirm(lambda: hmm().smooth(OBSERVED)[..., 0].sum(), control=lambda: hmm().log_prob(OBSERVED).sum()))
