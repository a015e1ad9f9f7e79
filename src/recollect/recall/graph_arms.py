"""The arms that follow the temporal graph: from the top down, and from the best candidates on."""

from __future__ import annotations

from datetime import datetime

from recollect.core.clock import to_micros
from recollect.recall.analyse import Analysis
from recollect.recall.candidates import PAGERANK_ARM, TOPDOWN_ARM, Asking, Candidate, take
from recollect.recall.fuse import fuse
from recollect.recall.meant import Named
from recollect.recall.pagerank import page_rank
from recollect.recall.topdown import top_down


def add_linked(found: dict[int, Candidate], asking: Asking, asked: Analysis, named: Named, now: datetime) -> None:
    """Add what the graph links to a question, and to what other arms found for it, where a recipe says so."""
    reader, space, recipe, terms, _, allowed = asking
    if recipe.topdown is not None:
        ranking = top_down(
            reader,
            space,
            recipe.topdown,
            names=asked.names,
            asker=named.asker,
            terms=terms,
            now=to_micros(now)[0],
            allowed=allowed,
        )
        take(found, ranking, TOPDOWN_ARM)
    if recipe.pagerank is not None:
        ranked = fuse(found.values(), recipe)
        take(found, page_rank(reader, space, recipe.pagerank, ranked, allowed=allowed), PAGERANK_ARM)
