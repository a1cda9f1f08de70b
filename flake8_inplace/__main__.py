"""``python -m flake8_inplace``."""

import sys

from .cli import main

if __name__ == "__main__":  # a process of a pool imports this module again
    sys.exit(main())
