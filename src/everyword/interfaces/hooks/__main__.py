"""`python -m everyword.interfaces.hooks`: the command in an agent's settings."""

from __future__ import annotations

import sys

from everyword.interfaces.hooks.run_hook import main

if __name__ == "__main__":
    sys.exit(main())
