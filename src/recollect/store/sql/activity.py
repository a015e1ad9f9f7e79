"""How much was said over time, counted by the database."""

from __future__ import annotations

from recollect.core.values import Filter
from recollect.store.activity import Extent
from recollect.store.sql.rows import conditions
from recollect.store.sql.snapshot import Snapshot


class ActivityRows(Snapshot):
    """Counts events where they are."""

    def extent(self, space: str, which: Filter) -> Extent:
        found = self.space(space)
        if found is None:
            return Extent(0, None, None)
        where, values = conditions(which, self.query)
        return Extent(*self.rows("extent", {**values, "space": found.id}, where)[0])

    def counted(self, space: str, which: Filter, *, begin: int, width: int) -> dict[int, int]:
        found = self.space(space)
        if found is None:
            return {}
        where, values = conditions(which, self.query)
        given = {**values, "space": found.id, "begin": begin, "width": width}
        return dict(self.rows("counted", given, where))

    def speakers(self, space: str, which: Filter, *, limit: int) -> list[str]:
        found = self.space(space)
        if found is None:
            return []
        where, values = conditions(which, self.query)
        return [row[0] for row in self.rows("speakers", {**values, "space": found.id, "limit": limit}, where)]
