"""Read and write marks (spans with goals, deeds, answers, states) and recall counts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from everyword.storage.rows import Access, MarkFilter, MarkRow
from everyword.storage.sql.snapshot import array, words
from everyword.storage.sql.statements import StatementChanges, StatementRows, statement_of
from everyword.types.events import Span
from everyword.types.statements import Statement, StatementKind
from everyword.types.times import to_micros

_END_OF_TIME = 1 << 62  # microseconds: now, for all that is known


class AttentionRows(StatementRows):
    """Reads marks and counts."""

    def marks(self, kind: str, which: MarkFilter, *, limit: int) -> list[MarkRow]:
        """Read marks of one kind, those of the newest events first."""
        values = {
            "space": self.id,
            "kind": kind,
            "wing": which.wing,
            "as_of": None if which.as_of is None else to_micros(which.as_of)[0],
            "limit": limit,
        }
        return [
            MarkRow(seq, kind, Span(start, stop), json.loads(body))
            for seq, start, stop, body in self.sql.rows("marks_newest", values)
        ]

    def marked_after(self, kinds: Sequence[str], *, after: int, limit: int) -> list[int]:
        """List the events with a mark of these kinds, in the order in which they arrived, from behind one."""
        return [row[0] for row in self.sql.rows("marked_after", (self.id, after, words(kinds), limit))]

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
    """Changes marks and counts."""

    def put_marks(self, marks: Sequence[MarkRow]) -> None:
        """Keep the marks of events that have none yet."""
        into = self.into
        place: dict[int, int] = defaultdict(int)
        rows: list[tuple[int, str, int, int, int, int, str]] = []
        for mark in marks:
            body = json.dumps(mark.body, ensure_ascii=True, separators=(",", ":"))
            rows.append((into, mark.kind, mark.seq, place[mark.seq], mark.span.start, mark.span.end, body))
            place[mark.seq] += 1
        self.sql.run_many("insert_mark", rows)

    def drop_marks(self) -> None:
        """Remove all marks of a space, to be read anew."""
        self.sql.run("drop_all_marks", (self.into,))

    def put_accesses(self, found: Mapping[int, Access]) -> None:
        """Add to the counts of events that are still there."""
        if found:
            several = json.dumps([(seq, one.times, one.last_at) for seq, one in found.items()])
            self.sql.run("count_access", (self.into, several))
