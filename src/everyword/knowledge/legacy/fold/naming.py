"""How well a word names a theme: "audit" and "treatment" do, "grinned" and "completed" do not.

A table of some seven thousand stems of English words, fitted on themes with their labels (`training/naming.py`). A
word that is not in it, of another language or a trade, is taken to be as good as most.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

TABLE = files("everyword.knowledge.legacy.fold").joinpath("naming.txt")
STEP = 0.25  # of a log-odds: the table holds whole numbers


def names_well(term: str) -> float:
    """Tell how well a stem names what events are about, as a log-odds; 0 where nothing is known of it."""
    return _table().get(term, 0) * STEP


def is_known(term: str) -> bool:
    """Tell whether a stem is one of a plain word of English, and so hardly that of somebody's name."""
    return term in _table()


@cache
def _table() -> dict[str, int]:
    """Read the table: on each line a number, then the stems that have it."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return {stem: int(number) for line in lines for number, *stems in [line.split()] for stem in stems}
