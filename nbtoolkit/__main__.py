"""``python -m nbtoolkit`` is the command ``nbtoolkit``."""

from __future__ import annotations

import sys

from nbtoolkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
