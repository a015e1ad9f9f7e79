"""How far what is derived is behind the log."""

from __future__ import annotations

from recollect.store.protocol import Reader


def behind(reader: Reader, space: str) -> dict[str, int]:
    """Count the events of which something is not derived yet, by what that is; nothing where all is."""
    marks = reader.fold_mark(space)
    reached = {
        "artifacts": reader.derived_upto(space),
        "graph": reader.graph_state(space).upto,
        "intents": reader.marked_upto(space),
        "concepts": marks.upto if marks is not None else 0,
    }
    counted = {what: reader.fold_waiting(space, upto) for what, upto in reached.items() if upto is not None}
    return {what: count for what, count in counted.items() if count}
