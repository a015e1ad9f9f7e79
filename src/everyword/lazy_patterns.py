"""Regular expressions that are compiled when first used: most processes need few of those that they import."""

from __future__ import annotations

import re
from typing import Any, cast


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Give what behaves as re.compile(pattern, flags), and compiles it when it is first asked for something."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)  # asked for only once: from now on this costs what a compiled pattern does
        return found
