"""Leads: the turn before a line that means little by itself ("Yes, last May!", "She loved it.")."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.core.values import Hit
from recollect.store.protocol import Known, Reader, Seqs

# A line that begins by answering or pointing back, or that is no longer than an exclamation.
_LEANS = re.compile(
    r"\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|exactly|absolutely|definitely|true|same|both|neither|maybe|probably|"
    r"of course|me too|it|it's|that|that's|this|these|those|they|they're|he|he's|she|she's|there|then|so|because)\b",
    re.IGNORECASE,
)
_SHORT = 6  # words


def leads(reader: Reader, space: str, hits: Sequence[Hit], allowed: Seqs | None) -> dict[str, Known]:
    """Read the turn before each hit that leans on it, by the hit's id."""
    leaning = [hit for hit in hits if _leans(hit.event.text)]
    may = None if allowed is None else set(allowed.tolist())
    before: dict[str, int] = {}
    runs = {seq: run for run in reader.around(space, [hit.seq for hit in leaning], 1) for seq in run}
    for hit in leaning:
        run = runs.get(hit.seq, [hit.seq])
        place = run.index(hit.seq)
        if place and (may is None or run[place - 1] in may):
            before[hit.event.id] = run[place - 1]
    events = reader.fetch(space, list(before.values()))
    return {id: Known(seq, events[seq]) for id, seq in before.items() if seq in events}


def _leans(text: str) -> bool:
    return _LEANS.match(text) is not None or len(text.split(None, _SHORT)) < _SHORT
