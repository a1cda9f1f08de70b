"""transformers 5.23.0: the line of Mamba2 (transformers_mamba_family.py) in five more files:
falcon_h1/modeling_falcon_h1.py:447, granitemoehybrid/modeling_granitemoehybrid.py:362, bamba/modeling_bamba.py:442,
nemotron_h/modeling_nemotron_h.py:248 and zamba2/modeling_zamba2.py:504.

Here `mamba2_selective_state_update` itself is called. The control is the call with a state that is written to in a copy
of it, as `state.clone().copy_(...)` would. `mamba_ssm` has to be absent.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_state_update.py
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from functools import partial

import torch
from _confirm import confirm, import_torchvision

import_torchvision()

MODELS = ("falcon_h1", "granitemoehybrid", "bamba", "nemotron_h", "zamba2")
LINE = "state.copy_("


def repaired(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    source = inspect.getsource(inspect.unwrap(function))
    assert source.count(LINE) == 1
    start = source.index("def ")
    scope = dict(inspect.unwrap(function).__globals__)
    exec(source[start:].replace(LINE, "state.clone().copy_("), scope)
    return scope[function.__name__]


def update(function: Callable[..., torch.Tensor]) -> torch.Tensor:
    torch.manual_seed(0)
    heads, width, size = 4, 8, 4
    x, dt = torch.randn(1, heads, width, requires_grad=True), torch.rand(1, heads, width, requires_grad=True)
    b, c = torch.randn(1, 1, size, requires_grad=True), torch.randn(1, 1, size, requires_grad=True)
    state, a = torch.zeros(1, heads, width, size), -torch.rand(heads, width, size)
    return function(state, x, dt, a, b, c).sum()


if __name__ == "__main__":
    statuses = []
    for name in MODELS:
        print(name, end=": ", flush=True)
        module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        function = module.mamba2_selective_state_update
        statuses.append(confirm(partial(update, function), control=partial(update, repaired(function))))
    sys.exit(max(statuses))
