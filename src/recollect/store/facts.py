"""Facts that a store keeps about itself, by name."""

from __future__ import annotations

from recollect.core.words import ANALYSIS_VERSION
from recollect.store.protocol import Reader

ANALYSIS = "analysis"  # the version of core/words.py that made the postings
SCRUB_OWED = "scrub_owed"  # a value of its own for each removal, until what lies on disk has been rewritten
NOT_OWED = "0"
RECORDS_INDEXED = "records_indexed"  # set by a migration: records are still indexed as the events that they were
FENCE_KEY = "fence_key"  # secret from which fences around recorded text are derived
COPYING = "copying"  # how far a copy from another store is; empty when it is complete


def scrub_owed(reader: Reader) -> str | None:
    """Tell whether removed words may still be on disk: a value that changes with each removal, or None."""
    said = reader.fact(SCRUB_OWED)
    return None if said == NOT_OWED else said


def analysis_of(reader: Reader) -> int:
    """Tell which analysis of words made the postings; that of now where there are none yet."""
    said = reader.fact(ANALYSIS)
    return ANALYSIS_VERSION if said is None else int(said)
