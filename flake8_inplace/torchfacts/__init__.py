"""What PyTorch does: which tensors an op saves for its backward pass, which it overwrites, what its result aliases.

`ops` and `modules` answer look-ups from `ops.json`, which `generate` writes. Only `generate` imports torch.
"""
