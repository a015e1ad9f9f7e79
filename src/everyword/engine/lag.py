"""Count the events that a derived layer does not cover yet. Separate because `stats` must not import the layers."""

from __future__ import annotations

from everyword.storage.protocol import Reader
from everyword.text.terms import ANALYSIS_VERSION

WORDS = "words"  # indexed by an older version; only `settle` renews them, no write does


def lag(reader: Reader) -> dict[str, int]:
    """Count the events behind, by layer; layers that are complete are left out."""
    marks = reader.fold_mark()
    reached = {
        WORDS: 0 if reader.file.analysis_version() < ANALYSIS_VERSION else None,
        "artifacts": reader.derived_upto(),
        "graph": reader.graph_state().upto,
        "intents": reader.marked_upto(),
        "concepts": marks.upto if marks is not None else 0,
    }
    counted = {layer: reader.fold_waiting(upto) for layer, upto in reached.items() if upto is not None}
    return {layer: count for layer, count in counted.items() if count}
