"""vit-pytorch 1.26.11, vit_pytorch/vit_nd_pope.py:84: `self.learned_bias.uniform_(...)` of an `nn.Parameter`, with grad
mode on.

The module cannot be made with `init_learned_bias_uniform=True`. With the default it can: that is the control.

    python -m pip install --no-deps --target /tmp/found vit-pytorch==1.26.11 einops torchvision pillow
    PYTHONPATH=/tmp/found python docs/found/vit_pytorch_pope.py
"""

import sys

from _confirm import import_torchvision

import_torchvision()
from vit_pytorch.vit_nd_pope import GoldenGatePoPENd  # noqa: E402

if __name__ == "__main__":
    GoldenGatePoPENd(2, 2, 8)
    try:
        GoldenGatePoPENd(2, 2, 8, init_learned_bias_uniform=True)
    except RuntimeError as error:
        print("confirmed:", error)
        sys.exit(0)
    print("not confirmed: the module was made")
    sys.exit(1)
