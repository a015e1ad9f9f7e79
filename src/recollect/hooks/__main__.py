"""`python -m recollect.hooks`: what an agent's settings call."""

from __future__ import annotations

import sys

from recollect.hooks import main

if __name__ == "__main__":
    sys.exit(main())
