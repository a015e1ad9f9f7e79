"""What an LLM wrote of many events, in the file."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.store.sql.snapshot import Snapshot, array, words
from recollect.store.written import PlanRow, Reach, WrittenRow


class WrittenRows(Snapshot):
    """Reads what was written."""

    def written(self, space: str, sessions: Sequence[str]) -> dict[str, WrittenRow]:
        found = self.space(space)
        rows = self.rows("written_of", (found.id, words(sessions))) if found is not None and sessions else []
        return {row[0]: WrittenRow(*row) for row in rows}

    def session_reach(self, space: str, session: str) -> Reach:
        found = self.space(space)
        return Reach(*self.rows("session_reach", (found.id, session))[0]) if found else Reach(0, None)

    def plans_at(self, space: str, seqs: Sequence[int]) -> list[PlanRow]:
        found = self.space(space)
        rows = self.rows("plans_at", (found.id, array(seqs))) if found is not None and len(seqs) else []
        return [PlanRow(seq, place, extractor, bool(refused), body) for seq, place, extractor, refused, body in rows]

    def plans_resting_on(self, space: str, seqs: Sequence[int]) -> list[tuple[int, int]]:
        found = self.space(space)
        return [(row[0], row[1]) for row in self.rows("plans_resting_on", (found.id, array(seqs)))] if found else []

    def last_plan(self, space: str) -> int:
        found = self.space(space)
        return int(self.one("last_plan", (found.id,))) if found else 0

    def last_event_upto(self, space: str, seq: int) -> int | None:
        found = self.space(space)
        return self.one("last_event_upto", (found.id, seq)) if found else None

    def refusals(self, space: str) -> int:
        found = self.space(space)
        return int(self.one("refusals", (found.id,))) if found else 0


class WrittenChanges(WrittenRows):
    """Changes what was written."""

    def put_written(self, space: str, row: WrittenRow) -> None:
        self.run("put_written", (self.space_to_write(space).id, *row))

    def drop_written(self, space: str, sessions: Sequence[str]) -> None:
        self.run("drop_written", (self.space_to_write(space).id, words(sessions)))

    def owe_job(self, space: str, kind: str, seq: int, *, due_at: int) -> None:
        self.run("owe_job", (self.space_to_write(space).id, kind, seq, due_at))

    def put_plan(
        self, space: str, seq: int, *, extractor: str, refused: bool, body: str, sources: Sequence[int]
    ) -> int:
        into = self.space_to_write(space).id
        place = int(self.one("next_plan_place", (into, seq)))
        self.run("put_plan", (into, seq, place, extractor, int(refused), body))
        self.run_many("put_plan_source", ((into, source, seq, place) for source in sources))
        return place

    def drop_plans(self, space: str, plans: Sequence[tuple[int, int]]) -> None:
        into = self.space_to_write(space).id
        for name in ("drop_plan", "drop_plan_sources"):
            self.run_many(name, ((into, seq, place) for seq, place in plans))
