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
        return {int(part): int(count) for part, count in self.rows("counted", given, where)}

    def speakers(self, space: str, *, wing: str | None = None, limit: int) -> list[str]:
        if wing is not None:
            found = self.space(space)
            return [row[0] for row in self.rows("speakers_of_wing", (found.id, wing, limit))] if found else []
        return self._names("speakers", space, limit)

    def wings(self, space: str, *, limit: int) -> list[str]:
        return self._names("wings", space, limit)

    def _names(self, query: str, space: str, limit: int) -> list[str]:
        found = self.space(space)
        rows = self.rows(query, {"space": found.id, "limit": limit}) if found else []
        return [row[0] for row in rows if row[0] is not None]
