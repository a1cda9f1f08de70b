"""torchrl 0.14.1, torchrl/modules/models/batchrenorm.py:114: `self.num_batches_tracked.clamp_max(self.warmup_steps)` as
a statement; its result is thrown away.

The count of batches was to stop at `warmup_steps`. It goes on, and the correction, which was to be blended in from 0 to
1, is multiplied by 2, 3, 4 and so on.

    python -m pip install --no-deps --target /tmp/found torchrl==0.14.1 tensordict pyvers cloudpickle orjson packaging
    PYTHONPATH=/tmp/found python docs/found/torchrl_batch_renorm.py
"""

import sys

import torch
from _confirm import confirm_silent
from torchrl.modules.models.batchrenorm import BatchRenorm1d


def last_output() -> torch.Tensor:
    torch.manual_seed(0)
    layer = BatchRenorm1d(3, warmup_steps=5)
    for _ in range(50):
        output = layer(torch.randn(8, 3) * 2 + 1)
    return output.detach()


if __name__ == "__main__":
    line = "self.num_batches_tracked.clamp_max(self.warmup_steps)"
    sys.exit(confirm_silent(last_output, BatchRenorm1d, "forward", line, line.replace("clamp_max", "clamp_max_")))
