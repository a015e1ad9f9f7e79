"""Read what is newest, and read and write recall counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from everyword.storage.rows import Access
from everyword.storage.sql.snapshot import array
from everyword.storage.sql.statements import StatementChanges, StatementRows, statement_of
from everyword.types.statements import Statement, StatementKind
from everyword.types.times import to_micros

_END_OF_TIME = 1 << 62  # microseconds: now, for all that is known


class AttentionRows(StatementRows):
    """Reads what is newest, and counts."""

    def newest_statements(self, kinds: Sequence[StatementKind], *, limit: int) -> list[tuple[int, Statement]]:
        """Read statements of some kinds, whether they still count or not, the newest first, each with its event."""
        rows = [row for kind in kinds for row in self.sql.rows("statements_newest", (self.id, kind, limit))]
        return [(row[2], statement_of(row)) for row in sorted(rows, key=lambda row: -row[0])[:limit]]

    def newest_events(self, wing: str | None, *, as_of: datetime | None = None, limit: int) -> list[int]:
        """List the events that happened last, the newest first; as_of: of those that were known then."""
        then = _END_OF_TIME if as_of is None else to_micros(as_of)[0]
        values = {"space": self.id, "wing": wing, "as_of": then, "limit": limit}
        return [row[0] for row in self.sql.rows("events_newest", values)]

    def wing_counts(self, *, as_of: datetime | None = None) -> dict[str | None, int]:
        """Count the events of each wing; None: those of no wing. as_of: of those that were known then."""
        if as_of is not None:
            return {row[0]: row[1] for row in self.sql.rows("wing_counts_then", (self.id, to_micros(as_of)[0]))}
        counts: dict[str | None, int] = {row[0]: row[1] for row in self.sql.rows("wing_counts", (self.id,))}
        rest = (self.row.events if self.row else 0) - sum(counts.values())
        return {**counts, None: rest} if rest else counts

    def accesses(self, seqs: Sequence[int]) -> dict[int, Access]:
        """Tell how often some events were recalled; those that never were are left out."""
        if not len(seqs):
            return {}
        return {row[0]: Access(row[1], row[2]) for row in self.sql.rows("accesses_of", (self.id, array(seqs)))}

    def most_recalled(self, *, limit: int) -> list[int]:
        """List the events that were recalled most often."""
        return [row[0] for row in self.sql.rows("most_recalled", (self.id, limit))]


class AttentionChanges(StatementChanges, AttentionRows):
    """Changes counts."""

    def put_accesses(self, found: Mapping[int, Access]) -> None:
        """Add to the counts of events that are still there."""
        if found:
            several = json.dumps([(seq, one.times, one.last_at) for seq, one in found.items()])
            self.sql.run("count_access", (self.into, several))
