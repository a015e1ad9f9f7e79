"""How hard a test tries: a short form by default, the long form where EVERYWORD_LONG_TESTS is set (`make fuzz`)."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("EVERYWORD_LONG_TESTS"))


def effort(short: int, long: int) -> int:
    """Choose how many examples, rounds or rows a test uses."""
    return long if LONG else short
