"""Find texts of one source that say nearly the same, so that many of them count little more than one."""

from __future__ import annotations

import re

# Share of all words of two texts that both have. "Ana lives in Evilville (record 17)" repeats "Ana lives in Evilville";
# two sentences that share a subject and a verb do not.
SIMILAR = 0.6
_MOST_READ = 4_000  # characters of a text
_WORD = re.compile(r"[^\W_]+")


class Repeats:
    """Groups texts as they come; a text belongs to the first group of its source that is similar enough."""

    def __init__(self) -> None:
        self._groups: dict[str, list[frozenset[str]]] = {}

    def is_repeat(self, source: str, text: str) -> bool:
        """Tell whether an earlier text of the source says nearly the same; else remember this one."""
        words = frozenset(_WORD.findall(text[:_MOST_READ].casefold()))
        groups = self._groups.setdefault(source, [])
        if any(_similar(words, group) for group in groups):
            return True
        groups.append(words)
        return False


def _similar(one: frozenset[str], other: frozenset[str]) -> bool:
    shorter, longer = sorted((len(one), len(other)))
    if shorter < SIMILAR * longer:
        return False
    both = len(one & other)
    return both >= SIMILAR * (shorter + longer - both)
