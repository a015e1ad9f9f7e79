"""Entities: names in an event (`find.py`), judged by lists and context (`judge.py`, `lexicon.py`, `gazetteer.py`,
`nicknames.py`); whom a name belongs to (`index.py`); merging and splitting by hand (`curate.py`)."""

from __future__ import annotations

from everyword.knowledge.legacy.extract.entities.curate import Curated, Pins, Undo, merge, split, undone
from everyword.knowledge.legacy.extract.entities.find import find_mentions
from everyword.knowledge.legacy.extract.entities.index import NameIndex, Resolution

__all__ = ["Curated", "NameIndex", "Pins", "Resolution", "Undo", "find_mentions", "merge", "split", "undone"]
