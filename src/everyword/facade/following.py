"""What programs that follow or page through a memory ask for: news, pages of long lists, work that waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from everyword.errors import InvalidInput
from everyword.facade.arguments import Time, checked_count
from everyword.facade.statements import Statements
from everyword.jobs.feed import feed, feed_scope, waiting
from everyword.storage.protocol import Cursor
from everyword.types.events import Event, Json
from everyword.types.feed import Feed, Page, Waiting
from everyword.types.statements import Artifact, Status
from everyword.types.times import from_micros

_MOST_A_PAGE = 1_000
# One number, or a time in microseconds and a number.
_CURSORS = {1: re.compile(r"(\d{1,18})", re.ASCII), 2: re.compile(r"(-?\d{1,18})\.(\d{1,18})", re.ASCII)}


class Following(Statements):
    """A memory for those who come back for more."""

    def changes(self, *, after: str | None = None, limit: int = 100) -> Feed:
        """Read what happened behind a position: events, statements, concepts, intents, jobs, what was forgotten.

        Each kind is in order. An intent is told again whenever an event speaks of it, as it stands now.
        after: the `position` of the feed before; None begins at the beginning, "now" gives only the position to go on
        from. limit: how many of each kind at most.
        """
        checked_count("limit", limit, _MOST_A_PAGE)
        with self._engine.store.reader() as reader:
            return feed(feed_scope(self._engine, reader, self._space, self._wing), after, limit=limit)

    def jobs(self, *, limit: int = 100) -> list[Waiting]:
        """List the work of this space that waits: vectors that a model owes, readings of an LLM ..., oldest first."""
        with self._engine.store.reader() as reader:
            rows = reader.jobs_of(self._space, limit=checked_count("limit", limit, 1 << 62))
            events = reader.fetch(self._space, [row.seq for row in rows])
        return [
            waiting(row, events.get(row.seq))
            for row in rows
            if self._wing is None or (row.seq in events and events[row.seq].wing == self._wing)
        ]

    def job_counts(self) -> dict[str, tuple[int, int]]:
        """Count the work of this space that waits, by kind: all of it, and what failed before."""
        with self._engine.store.reader() as reader:
            return reader.job_counts(self._space)

    def pulse(self) -> str:
        """Give a word that changes when something happens in the file: cheap to ask, for those who wait."""
        with self._engine.store.reader() as reader:
            return reader.pulse()

    def next_job_due(self) -> datetime | None:
        """Tell when the first job of the file is due; None where none waits."""
        with self._engine.store.reader() as reader:
            due = reader.next_job_due()
        return None if due is None else from_micros(due)

    def spaces(self) -> list[str]:
        """List the spaces of the file that hold or held events."""
        with self._engine.store.reader() as reader:
            return [self._space] if self._walled else reader.spaces()

    def page_of_events(
        self,
        *,
        cursor: str | None = None,
        wing: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        as_of: Time | None = None,
        role: str | Sequence[str] | None = None,
        source: str | Sequence[str] | None = None,
        meta: Mapping[str, Json] | None = None,
        newest_first: bool = False,
        limit: int = 100,
    ) -> Page[Event]:
        """Read a page of events(); cursor: the `next` of the page before."""
        which = self._filter(
            wing=wing,
            session=session,
            speaker=speaker,
            since=since,
            until=until,
            as_of=as_of,
            role=role,
            source=source,
            meta=meta,
        )
        most = checked_count("limit", limit, _MOST_A_PAGE)
        after = None if cursor is None else Cursor(*_numbers(cursor, 2))
        with self._engine.store.reader() as reader:
            rows = reader.page(self._space, which, after=after, newest_first=newest_first, limit=most + 1)
        return Page((event for _, event in rows[:most]), next=_cursor(*rows[most - 1][0]) if len(rows) > most else None)

    def page_of_artifacts(
        self,
        *,
        cursor: str | None = None,
        kind: str | None = None,
        about: str | None = None,
        status: str = Status.CURRENT,
        tag: str | None = None,
        as_of: Time | None = None,
        limit: int = 100,
    ) -> Page[Artifact]:
        """Read a page of artifacts(); cursor: the `next` of the page before."""
        which = self._artifact_filter(kind=kind, about=about, status=status, tag=tag, as_of=as_of)
        most = checked_count("limit", limit, _MOST_A_PAGE)
        after = 0 if cursor is None else _numbers(cursor, 1)[0]
        with self._engine.store.reader() as reader:
            rows = reader.artifacts(self._space, which, after=after, limit=most + 1)
        return Page(
            (artifact for _, artifact in rows[:most]), next=_cursor(rows[most - 1][0]) if len(rows) > most else None
        )


def _cursor(*numbers: int) -> str:
    return ".".join(map(str, numbers))


def _numbers(cursor: str, count: int) -> tuple[int, ...]:
    """Read a cursor. It needs no signature: within its own space, everyone may stand anywhere."""
    found = _CURSORS[count].fullmatch(cursor) if isinstance(cursor, str) else None
    if found is None:
        raise InvalidInput("This is no cursor of this list.", fix="Give the `next` of the page before, as it was.")
    return tuple(int(number) for number in found.groups())
