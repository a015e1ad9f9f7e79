"""Facts: what an event claims of whom, when that is true, and how claims become facts with windows.

`extract.py` reads an event with `rules.py` (by verb), `occupations.py`, `tastes.py`, `kinship.py` and `endings.py`;
`stated.py` takes what statements say, `told.py` what an LLM reads. `when.py` dates a claim, and `timeline.py` folds
claims into facts.
"""

from __future__ import annotations

from everyword.knowledge.legacy.extract.facts.extract import EXTRACTOR, extract_facts
from everyword.knowledge.legacy.extract.facts.stated import facts_of_statements
from everyword.knowledge.legacy.extract.facts.timeline import Changes, addressed, place, readdressed, timeline
from everyword.knowledge.legacy.extract.facts.told import ToldFact, told_facts

__all__ = [
    "EXTRACTOR",
    "Changes",
    "ToldFact",
    "addressed",
    "extract_facts",
    "facts_of_statements",
    "place",
    "readdressed",
    "timeline",
    "told_facts",
]
