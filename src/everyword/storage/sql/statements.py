"""Read and write statements: versions, the journal, tags, LLM readings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from everyword.storage.rows import PLAN, READ, SUMMARISE, StatementFilter, StatementText, read_text
from everyword.storage.sql.snapshot import Row, SpaceRows, array, compact_json, grouped
from everyword.types.events import Change, Span, event_id
from everyword.types.statements import Category, SaidDate, Slot, Stance, Statement, StatementKind, Status
from everyword.types.times import from_micros, optional_micros, optional_moment, to_micros

# All that is derived of a space. Readings stay: nobody offline can make them again.
_DERIVED = (
    *("drop_all_keys", "drop_all_statements", "drop_all_changes", "drop_all_tags"),
    *("drop_loose_readings", "drop_loose_model_readings", "drop_loose_sources"),
)


class StatementRows(SpaceRows):
    def statement(self, id: str) -> Statement | None:
        return next(map(statement_of, self._rows("statement_by_id", id)), None)

    def statements(
        self, which: StatementFilter, *, after: int = 0, newest_first: bool = False, limit: int
    ) -> list[tuple[int, Statement]]:
        """List statements in the order in which they were derived, or the other way, after a number."""
        as_of = optional_micros(which.as_of)
        values = {name: getattr(which, name) for name in ("kind", "status", "tag", "wing")}
        values |= {"about": which.about and which.about.casefold(), "as_of": as_of, "after": after, "limit": limit}
        rows = self._rows("statements_by_filter_newest" if newest_first else "statements_by_filter", **values)
        return [(row[0], _as_known(statement_of(row), row, as_of)) for row in rows]

    def statements_of(self, seqs: Sequence[int], *, closed: bool = False) -> dict[int, list[Statement]]:
        """Read what some events state; closed: only of those that state something which no longer holds."""
        where = self.sql.query("where_closed") if closed else ""
        rows = self.sql.rows("statements_of_events", (self.id, array(seqs)), where) if len(seqs) else []
        return grouped((row[2], statement_of(row)) for row in rows)

    def statement_numbers(self, seqs: Sequence[int]) -> dict[str, int]:
        """Read the row numbers of what some events state, by id."""
        return self._pairs("statement_numbers", array(seqs))

    def statement_texts(self, seqs: Sequence[int]) -> list[StatementText]:
        """Read what some events state, in few words and fast."""
        rows = self._rows_of("statement_texts", seqs)
        return [StatementText(seq, self.sql.read_json(content), bool(now)) for seq, content, now in rows]

    def standing(self, about: str, *, limit: int) -> list[Statement]:
        """Read what is current about somebody, the newest first."""
        return list(map(statement_of, self._rows("statements_standing", about.casefold(), Status.CURRENT, limit)))

    def standing_by(self, keys: Sequence[int], *, limit: int) -> list[Statement]:
        """Read what is current and was put with one of these keys, the newest first."""
        return list(map(statement_of, self._rows_of("statements_standing_by", keys, limit)))

    def latest_statements(self, kind: StatementKind, *, wing: str | None, limit: int) -> list[Statement]:
        """Read what is current of a kind, the last derived first."""
        return list(map(statement_of, self._rows("statements_latest", kind=kind, wing=wing, limit=limit)))

    def newest_statements(
        self, kinds: Sequence[StatementKind], *, wing: str | None = None, limit: int
    ) -> list[tuple[int, Statement]]:
        """Read statements of some kinds, whether they still count or not, the newest first, each with its event."""
        rows = [row for kind in kinds for row in self._rows("statements_newest", kind, limit, wing)]
        return [(row[2], statement_of(row)) for row in sorted(rows, key=lambda row: -row[0])[:limit]]

    def confirmations(self, *, limit: int) -> dict[str, int]:
        """Count how often what is known was said again, for the most frequent, by statement."""
        return self._pairs("confirmations", limit)

    def versions(self, ids: Sequence[str]) -> dict[str, list[Statement]]:
        """Read the whole chain that each of some statements belongs to, the oldest first."""
        return grouped((asked, statement_of(row)) for *row, asked in self._rows_of("statement_versions", ids))

    def changes(self, ids: Sequence[str]) -> list[Change]:
        """Read the journal of some statements, the oldest first."""
        return [
            Change(
                at=from_micros(at), action=action, reason=reason, statement_id=id, target_id=to, event_id=event_id(raw)
            )
            for at, action, reason, id, to, raw in self._rows_of("changes_of", ids)
        ]

    def confirmed_by(self, seqs: Sequence[int]) -> list[str]:
        """List the statements that some events say again."""
        return [id for (id,) in self._rows_of("confirmed_by", seqs)]

    def change_counts(self) -> dict[str, int]:
        """Count the journal's entries by action."""
        return self._pairs("change_counts")

    def statement_counts(self) -> dict[str, int]:
        """Count what is current, by kind."""
        return self._pairs("statement_counts")

    def tag_counts(self) -> dict[str, int]:
        return self._pairs("tag_counts")

    def stating(self, abouts: Sequence[str]) -> list[int]:
        """List the events that state something about some, or changed what is stated."""
        return [row[0] for row in self._rows_of("seqs_stating", abouts)]

    def abouts_of(self, seqs: Sequence[int]) -> set[str]:
        """Tell whom or what some events speak about, case-folded."""
        return set(self._column("abouts_touched", array(seqs)))

    def said_earlier(self, seq: int, *, limit: int) -> list[int]:
        """List the turns before one in its session that had arrived before it, the nearest first."""
        return self._column("said_earlier", seq, limit)

    def said_after(self, seqs: Sequence[int]) -> list[int]:
        """List the events whose nearest turn in said_earlier() is one of these."""
        these, firsts = set(seqs), dict[str, tuple[int, int]]()
        for seq, session, at, *_ in self._rows_of("outlines_by_seq", seqs):
            if session is not None:
                firsts[session] = min(firsts.get(session, (at, seq)), (at, seq))
        after: list[int] = []
        for session, first in firsts.items():
            said = self._column("said_from", session, *first)
            for place, seq in enumerate(said):
                before = (said[earlier] for earlier in range(place - 1, -1, -1) if said[earlier] < seq)
                if next(before, None) in these:
                    after.append(seq)
        return sorted(after)

    def readings(self, seqs: Sequence[int]) -> dict[int, str]:
        """Read what an LLM found in events, as it was put."""
        return self._pairs("readings_of_events", array(seqs))

    def model_readings(self, seqs: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Read what the reader found in events: the model's name and what was put."""
        return {seq: (model, body) for seq, model, body in self._rows("model_readings_of_events", array(seqs))}

    def unread(self, *, but_roles: Sequence[str], but_sources: Sequence[str] = (), limit: int) -> list[int]:
        """List events that an LLM has neither read nor is to read, the newest first; without some roles, lower-case."""
        return self._column("unread", tuple(but_roles), READ, limit, tuple(but_sources))

    def resting_on(self, seqs: Sequence[int]) -> list[int]:
        """List the events whose readings use words of some others."""
        return self._column("seqs_resting_on", array(seqs))

    def names_known(self, *, limit: int) -> list[tuple[str, int]]:
        """List whom and what statements are about, the most frequent first, each with an event that speaks of it."""
        return [(self.sql.read_json(about), seq) for about, seq in self._rows("names_known", limit)]


class StatementChanges(StatementRows):
    def put_statement(
        self, seq: int, statement: Statement, keys: Sequence[int] = (), *, number: int | None = None
    ) -> None:
        """Add a statement of an event; while it is current, standing_by() finds it by its keys.

        number: that it had before it was dropped; None for the next one.
        """
        number = self.sql.rows("insert_statement", (*_values(self.into, seq, statement), number))[0][0]
        if statement.status is Status.CURRENT:
            self._change_each("insert_statement_key", ((key, number) for key in keys))

    def close_statement(self, id: str, *, status: Status, valid_to: datetime | None, at: int) -> None:
        """End a statement; `at` is when the memory learned it."""
        self.sql.run("close_statement", (status, optional_micros(valid_to), at, self.into, id))
        self._change("delete_statement_keys", id)

    def reopen_statement(self, id: str, keys: Sequence[int]) -> None:
        """Reopen a statement that was closed by one that was never true; standing_by() finds it by its keys."""
        number = self.sql.rows("reopen_statement", (self.into, id))[0][0]
        self._change_each("insert_statement_key", ((key, number) for key in keys))

    def put_changes(self, changes: Iterable[tuple[int, Change]]) -> None:
        """Write entries of the journal, each with the event that caused it."""
        rows = ((seq, to_micros(one.at)[0], one) for seq, one in changes)
        values = ((seq, at, one.action, one.statement_id, one.target_id, one.reason) for seq, at, one in rows)
        self._change_each("insert_change", values)

    def put_tags(self, tags: Mapping[int, Sequence[str]]) -> None:
        self._change_each("insert_tag", ((tag, seq) for seq, all_of_it in tags.items() for tag in all_of_it))

    def drop_tags(self, seqs: Sequence[int]) -> None:
        self._change("delete_tags_of", array(seqs))

    def drop_statements(self, abouts: Sequence[str] | None) -> None:
        """Remove statements about some subjects and their journal, to derive them again; None: all, and loose rows."""
        if abouts is None:
            for name in _DERIVED:
                self._change(name)
            return
        for name in ("drop_changes_about", "drop_statements_about"):
            self._change(name, tuple(abouts))

    def put_reading(self, seq: int, *, extractor: str, body: str, sources: Sequence[int]) -> None:
        """Keep what an LLM found in an event; `sources` are other events whose words it uses."""
        self._change("put_reading", seq, extractor, body)
        self._change("delete_sources_of", array([seq]))
        self._change_each("insert_reading_source", ((source, seq) for source in sources))

    def drop_readings(self, seqs: Sequence[int]) -> None:
        """Remove what an LLM found in events, and what servers said of why others wait: it may repeat their words."""
        for name in ("delete_readings_of", "delete_sources_of"):
            self._change(name, array(seqs))
        for kind in (READ, SUMMARISE, PLAN):
            self._change("clear_errors_of", kind)

    def put_model_readings(self, readings: Mapping[int, str], *, model: str) -> None:
        """Keep what the reader found in events."""
        self._change_each("put_model_reading", ((seq, model, body) for seq, body in readings.items()))

    def drop_model_readings(self) -> None:
        """Remove what the reader found in events."""
        self._change("drop_model_readings")

    def drop_refusals(self, seqs: Sequence[int]) -> None:
        """Remove from the journal what was refused of events."""
        self._change("delete_refusals_of", array(seqs))

    def owe_readings(self, seqs: Sequence[int]) -> None:
        """Leave a job for each event that an LLM is to read; one that is there already stays."""
        self._change_each("insert_job", ((READ, seq) for seq in seqs))


# What the columns do not hold: fields of a statement, as JSON.
_BODY = (
    "content category span speaker about confidence date entities negated tags slot value stance lasting extractor"
).split()


def _values(space: int, seq: int, statement: Statement) -> tuple[Any, ...]:
    date = statement.date
    body = {name: getattr(statement, name) for name in _BODY}
    body["date"] = date and [optional_micros(date.start), optional_micros(date.end), *date[2:]]
    return (
        space,
        statement.id,
        seq,
        statement.kind,
        (statement.about or "").casefold(),
        statement.status,
        statement.replaces,
        optional_micros(statement.recorded_at),
        None if statement.status is Status.CURRENT else optional_micros(statement.recorded_at),
        optional_micros(statement.valid_from),
        optional_micros(statement.valid_to),
        compact_json(body),
    )


def statement_of(row: Row) -> Statement:
    """Read a statement; columns as every query of statements selects them.

    Days are days of the speaker's clock, so times come back in the zone of the event.
    """
    _, id, _, kind, status, replaces, recorded_at, _, valid_from, valid_to, body, raw_id, said, zone = row
    text = read_text(said)
    held: dict[str, Any] = json.loads(body)
    span, date = Span(*held["span"]), held["date"]
    held |= {
        "category": Category(held["category"]),
        "span": span,
        "date": date and SaidDate(from_micros(date[0], zone), from_micros(date[1], zone), *date[2:]),
        "entities": tuple(held["entities"]),
        "tags": tuple(held["tags"]),
        "slot": held["slot"] and Slot(*held["slot"]),
        "stance": Stance(held["stance"]),
    }
    return Statement(
        **held,
        id=id,
        kind=StatementKind(kind),
        quote=text[span.start : span.end],
        event_id=event_id(raw_id),
        valid_from=optional_moment(valid_from, zone),
        valid_to=optional_moment(valid_to, zone),
        recorded_at=from_micros(recorded_at),
        status=Status(status),
        replaces=replaces,
    )


def _as_known(statement: Statement, row: Row, as_of: int | None) -> Statement:
    """Show a statement as it was known at a time: what was closed later was current then."""
    closed_at = row[7]
    if as_of is None or closed_at is None or closed_at <= as_of:
        return statement
    return replace(statement, status=Status.CURRENT, valid_to=None)
