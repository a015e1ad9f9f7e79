"""How far what is derived is behind the log."""

from __future__ import annotations

from recollect.core.words import ANALYSIS_VERSION
from recollect.store.facts import analysis_of
from recollect.store.protocol import Reader

WORDS = "words"  # searched as an older version indexed them; unlike all else they are renewed by `settle` alone


def behind(reader: Reader, space: str) -> dict[str, int]:
    """Count the events of which something is not derived yet, by what that is; nothing where all is."""
    marks = reader.fold_mark(space)
    reached = {
        WORDS: 0 if analysis_of(reader) < ANALYSIS_VERSION else None,
        "artifacts": reader.derived_upto(space),
        "graph": reader.graph_state(space).upto,
        "intents": reader.marked_upto(space),
        "concepts": marks.upto if marks is not None else 0,
    }
    counted = {what: reader.fold_waiting(space, upto) for what, upto in reached.items() if upto is not None}
    return {what: count for what, count in counted.items() if count}
