"""`python -m everyword`: the command line."""

from __future__ import annotations

import sys

from everyword.interfaces.cli import main

sys.exit(main())
