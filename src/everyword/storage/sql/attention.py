"""Read and write marks (spans with goals, deeds, answers, states) and recall counts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from everyword.storage.rows import Access, MarkFilter, MarkRow
from everyword.storage.sql.snapshot import array, words
from everyword.storage.sql.statements import ArtifactChanges, ArtifactRows, artifact_of
from everyword.types.events import Span
from everyword.types.statements import Artifact, ArtifactKind
from everyword.types.times import to_micros

_END_OF_TIME = 1 << 62  # microseconds: now, for all that is known


class AttentionRows(ArtifactRows):
    """Reads marks and counts."""

    def marks(self, space: str, kind: str, which: MarkFilter, *, limit: int) -> list[MarkRow]:
        """Read marks of one kind, those of the newest events first."""
        found = self.space(space)
        if found is None:
            return []
        values = {
            "space": found.id,
            "kind": kind,
            "wing": which.wing,
            "as_of": None if which.as_of is None else to_micros(which.as_of)[0],
            "limit": limit,
        }
        return [
            MarkRow(seq, kind, Span(start, stop), json.loads(body))
            for seq, start, stop, body in self.rows("marks_newest", values)
        ]

    def marked_after(self, space: str, kinds: Sequence[str], *, after: int, limit: int) -> list[int]:
        """List the events with a mark of these kinds, in the order in which they arrived, from behind one."""
        found = self.space(space)
        if found is None:
            return []
        return [row[0] for row in self.rows("marked_after", (found.id, after, words(kinds), limit))]

    def newest_artifacts(self, space: str, kinds: Sequence[ArtifactKind], *, limit: int) -> list[tuple[int, Artifact]]:
        """Read statements of some kinds, whether they still count or not, the newest first, each with its event."""
        found = self.space(space)
        if found is None:
            return []
        rows = [row for kind in kinds for row in self.rows("artifacts_newest", (found.id, kind, limit))]
        return [(row[2], artifact_of(row)) for row in sorted(rows, key=lambda row: -row[0])[:limit]]

    def newest_events(self, space: str, wing: str | None, *, as_of: datetime | None = None, limit: int) -> list[int]:
        """List the events that happened last, the newest first; as_of: of those that were known then."""
        found = self.space(space)
        if found is None:
            return []
        then = _END_OF_TIME if as_of is None else to_micros(as_of)[0]
        values = {"space": found.id, "wing": wing, "as_of": then, "limit": limit}
        return [row[0] for row in self.rows("events_newest", values)]

    def wing_counts(self, space: str, *, as_of: datetime | None = None) -> dict[str | None, int]:
        """Count the events of each wing; None: those of no wing. as_of: of those that were known then."""
        found = self.space(space)
        if found is None:
            return {}
        if as_of is not None:
            return {row[0]: row[1] for row in self.rows("wing_counts_then", (found.id, to_micros(as_of)[0]))}
        counts: dict[str | None, int] = {row[0]: row[1] for row in self.rows("wing_counts", (found.id,))}
        rest = found.events - sum(counts.values())
        return {**counts, None: rest} if rest else counts

    def marked_upto(self, space: str) -> int | None:
        """Tell up to which event a space is marked; None where nothing is behind."""
        found = self.space(space)
        return self.one("marked_upto", (found.id,)) if found else None

    def accesses(self, space: str, seqs: Sequence[int]) -> dict[int, Access]:
        """Tell how often some events were recalled; those that never were are left out."""
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        return {row[0]: Access(row[1], row[2]) for row in self.rows("accesses_of", (found.id, array(seqs)))}

    def most_recalled(self, space: str, *, limit: int) -> list[int]:
        """List the events that were recalled most often."""
        found = self.space(space)
        return [row[0] for row in self.rows("most_recalled", (found.id, limit))] if found else []


class AttentionChanges(ArtifactChanges, AttentionRows):
    """Changes marks and counts."""

    def put_marks(self, space: str, marks: Sequence[MarkRow]) -> None:
        """Keep the marks of events that have none yet."""
        into = self.space_to_write(space).id
        place: dict[int, int] = defaultdict(int)
        rows: list[tuple[int, str, int, int, int, int, str]] = []
        for mark in marks:
            body = json.dumps(mark.body, ensure_ascii=True, separators=(",", ":"))
            rows.append((into, mark.kind, mark.seq, place[mark.seq], mark.span.start, mark.span.end, body))
            place[mark.seq] += 1
        self.run_many("insert_mark", rows)

    def drop_marks(self, space: str) -> None:
        """Remove all marks of a space, to be read anew."""
        self.run("drop_all_marks", (self.space_to_write(space).id,))

    def owe_marks(self, space: str, upto: int | None) -> None:
        """Note up to which event a space is marked; None: all of it is."""
        into = self.space_to_write(space).id
        if upto is None:
            self.run("marking_done", (into,))
        else:
            self.run("owe_marking", (into, upto))

    def put_accesses(self, space: str, found: Mapping[int, Access]) -> None:
        """Add to the counts of events that are still there."""
        into = self.space_to_write(space).id
        self.run_many("count_access", ((one.times, one.last_at, seq, into) for seq, one in found.items()))
