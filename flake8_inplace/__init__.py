"""flake8-inplace: find in-place operations that break PyTorch's autograd.

Importing this package loads neither torch nor libcst.
"""

__version__ = "0.1.0"
