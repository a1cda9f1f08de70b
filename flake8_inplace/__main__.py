"""``python -m flake8_inplace``."""

import sys

from .cli import main

sys.exit(main())
