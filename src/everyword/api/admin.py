"""`memory.admin`: upkeep, copies, the service's keys and webhooks, waiting jobs, and what our own surfaces need."""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, Unpack
from urllib.parse import urlsplit

from everyword.api.arguments import (
    NO_LIMIT,
    Conditions,
    EventConditions,
    SessionConditions,
    Time,
    checked_count,
    checked_limit,
    checked_order,
    checked_path,
    checked_question,
    chosen,
    spelled_out,
)
from everyword.api.facts import list_entities, list_facts
from everyword.api.imports import LOOK_EVERY_S, follow_path, import_path, write_events
from everyword.api.pages import entries_after
from everyword.api.questions import MOST_HITS, search_hits
from everyword.api.scope import Scope, in_pages, public, public_in_steps, public_resumable
from everyword.api.statements import statement_filter
from everyword.engine.engine import Progress, silent
from everyword.engine.retry import again
from everyword.errors import EverywordError, InvalidInput, NotFound
from everyword.jobs.feed import KINDS, SECRET_PREFIX, FeedScope, FeedToJson, Send, deliver, feed, waiting
from everyword.knowledge.sessions import list_sessions, with_summaries
from everyword.settings import AUTO
from everyword.storage.rows import FACTS, STATEMENTS, Cursor
from everyword.text.rendering import fenced, visible
from everyword.types.events import Activity, Event, Filter, Hits, Imported, Json, Receipt, Report, Session, SessionOrder
from everyword.types.graph import Entity, Fact
from everyword.types.records import Record, RecordKind, record_of
from everyword.types.service import (
    EVERY_SPACE,
    NOW,
    ApiKey,
    NewKey,
    NewWebhook,
    Page,
    Permission,
    Presented,
    Waiting,
    Webhook,
    checked_label,
    checked_spaces,
    new_secret,
)
from everyword.types.statements import Statement, Status
from everyword.types.times import as_datetime, from_micros, to_micros

_LONGEST_URL = 2_000  # characters
_MOST_A_PAGE = 1_000
_JOBS_AT_ONCE = 500  # read with their events
_MOST_PARTS = 1_000  # of a span of time: no screen is wider
_MOST_NAMES = 500  # to choose from
# One number, or a time in microseconds and a number.
_CURSORS = {1: re.compile(r"(\d{1,18})", re.ASCII), 2: re.compile(r"(-?\d{1,18})\.(\d{1,18})", re.ASCII)}


class Admin:
    """Upkeep of a memory, and what programs around it need."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    # Upkeep

    @public
    def verify(self, *, deep: bool = False, progress: Progress = silent) -> Report:
        """Check that the file is as it was written: its pages, every row of every table, and what belongs together.

        deep: also that all derived rows and vectors are what the log gives, by deriving them anew beside the file. That
        takes as long as `rebuild`. On PostgreSQL, rows are compared by a deep check alone.
        """
        from everyword.jobs.verify import verify

        only = self.scope.space if self.scope.walled else None
        return verify(self.scope.engine, deep=deep, only=only, progress=progress)

    @public_resumable
    def rebuild(self, *, vectors: bool = True, progress: Progress = silent) -> None:
        """Make every index anew from the log. The old ones serve until the new are complete."""
        from everyword.jobs import upkeep

        upkeep.rebuild(self.scope.engine, progress, vectors=vectors)

    @public_resumable
    def settle(self, *, scrub: bool = False, progress: Progress = silent) -> int:
        """Do all work that waits, such as vectors that a failing model owed, and derive all views; count the work done.

        scrub: on a server, also rewrite its tables after something was forgotten. That locks each of them meanwhile.
        """
        from everyword.jobs import upkeep

        return upkeep.settle(self.scope.engine, progress, scrub=scrub).jobs

    @public
    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the whole file, consistently, while others write. Never overwrites."""
        self.scope.engine.store.backup(str(checked_path(path)))

    @public_in_steps
    def export(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        wiki: str | os.PathLike[str] | None = None,
        graph: str | os.PathLike[str] | None = None,
    ) -> int:
        """Write this space's events as JSONL, which `import_events` reads; count them. Never overwrites.

        Edits (`records`) are not among them: no import could bring them back. `backup` copies everything.

        Instead of `path`: wiki, a folder of Markdown notes on people, projects and the like, brought up to date; notes
        by hand stay. graph, a new file for the graph, .graphml or .json. Counts notes, or nodes and edges.
        """
        if sum(one is not None for one in (path, wiki, graph)) != 1:
            raise InvalidInput("Say where to: a path for the events, a folder for `wiki`, or a file for `graph`.")
        if path is not None:
            return write_events(checked_path(path), self._arrived())
        from everyword.knowledge.graph_export import write_graph, write_wiki

        target = checked_path(graph if wiki is None else wiki)
        known = again(self.scope.engine, self._graph)
        if wiki is None:
            return write_graph(target, *known)
        done = write_wiki(target, *known)
        for name in done.kept:
            self.scope.engine.models.say(f"{name} was changed by hand and stays as it is.")
        return done.written + done.unchanged

    @public_in_steps
    def follow(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        redact: str | None = None,
        tz: str = "UTC",
        wait: bool = False,
        every_s: float = LOOK_EVERY_S,
        stop: threading.Event | None = None,
    ) -> Iterator[Imported | EverywordError]:
        """Import a folder or file, and whatever comes to it from then on, until `stop` is set.

        Gives what each look brought that was not there before. What goes wrong after the first look is given too, and
        tried again. A folder that holds nothing yet is waited for.
        """
        look = partial(import_path, self.scope, path, format=format, redact=redact, tz=tz, encode=wait)
        return follow_path(path, look, every_s=every_s, stop=stop or threading.Event())

    # Spaces, edits and waiting work

    @public
    def spaces(self) -> list[str]:
        """List the spaces of the file that hold or held events."""
        with self.scope.engine.store.file_reader() as reader:
            return [self.scope.space] if self.scope.walled else reader.spaces()

    @public
    def records(self, *, kind: str | None = None, limit: int | None = None) -> list[Record]:
        """List edits, the oldest first: what was done to what the memory holds, by whom and when.

        kind: "identity", "correction", "retraction", "feedback" or "undo_change".
        """
        most = checked_limit(limit)
        wanted = chosen(RecordKind, "kind", kind)
        with self.scope.reader() as reader:
            found = reader.records([one.value for one in RecordKind if wanted in (None, one)])
        return [record_of(one.event) for one in found if self.scope.wing in (None, one.event.wing)][:most]

    @public
    def receipts(self, *, limit: int = 100) -> list[Receipt]:
        """List what was forgotten, the latest first: when, and how many rows of each kind. Never what was said."""
        most = checked_count("limit", limit, NO_LIMIT)
        if self.scope.wing is not None:  # a receipt does not say to which wings its events belonged
            return []
        with self.scope.reader() as reader:
            found = reader.receipts_after(0, limit=NO_LIMIT)
        return [receipt for _, receipt in reversed(found)][:most]

    @public
    def jobs(self, *, limit: int = 100) -> list[Waiting]:
        """List the work of this space that waits: vectors that a model owes, readings of an LLM ..., oldest first."""
        most, after, found = checked_count("limit", limit, NO_LIMIT), 0, list[Waiting]()
        with self.scope.reader(STATEMENTS) as reader:
            while len(found) < most and (rows := reader.jobs_of(after=after, limit=_JOBS_AT_ONCE)):
                events = reader.fetch([row.seq for row in rows])
                found += [
                    waiting(row, events.get(row.seq))
                    for row in rows
                    if self.scope.wing is None or (row.seq in events and events[row.seq].wing == self.scope.wing)
                ]
                after = rows[-1].id
        return found[:most]

    @public
    def job_counts(self) -> dict[str, tuple[int, int]]:
        """Count the work of this space that waits, by kind: all of it, and what failed before."""
        with self.scope.reader(STATEMENTS) as reader:
            return reader.job_counts()

    @public
    def next_job_due(self) -> datetime | None:
        """Tell when the first job of the file is due; None where none waits."""
        with self.scope.engine.store.file_reader() as reader:
            due = reader.next_job_due()
        return None if due is None else from_micros(due)

    @public_in_steps
    def work(
        self,
        *,
        once: bool = False,
        stop: threading.Event | None = None,
        on_done: Callable[[str, int], None] | None = None,
    ) -> int:
        """Do the work that waits on a server, a space at a time, beside any number of other workers.

        Until `stop` is set, or `once`: until none is left. on_done: gets a space and how much was done for it.
        """
        from everyword.jobs.upkeep import work

        on_done = on_done or (lambda _space, _done: None)
        return work(self.scope.engine, stop=stop or threading.Event(), once=once, on_done=on_done)

    @public
    def pulse(self) -> str:
        """Return a string that changes whenever the file changes; cheap to poll."""
        with self.scope.engine.store.file_reader() as reader:
            return reader.pulse()

    # Keys and webhooks of the service

    @public
    def create_key(
        self,
        name: str,
        *,
        permission: str = Permission.READ,
        spaces: Sequence[str] = (EVERY_SPACE,),
        expires: Time | None = None,
    ) -> NewKey:
        """Make a key for the service. It is shown this once; the file keeps its hash.

        permission: "read", "write" or "admin". spaces: names, "acme/*" for all below acme/, or "*". expires: when it
        ends by itself.
        """
        secret, made = new_secret()
        key = ApiKey(
            id=made.id,
            name=checked_label(name),
            permission=chosen(Permission, "permission", permission) or Permission.READ,
            spaces=checked_spaces(spaces),
            created_at=self.scope.moment(None),
            expires_at=None if expires is None else as_datetime(expires, "expires").astimezone(UTC),
        )
        if key.expires_at is not None and key.expires_at <= key.created_at:
            raise InvalidInput("The key would have expired already.", fix="Choose a later time.")
        with self.scope.engine.store.file_writer() as writer:
            writer.put_key(key, made.digest)
        return NewKey(key=key, secret=secret)

    @public
    def api_keys(self) -> list[ApiKey]:
        """List keys, including expired and revoked ones, without their secrets."""
        with self.scope.engine.store.file_reader() as reader:
            return [stored.key for stored in reader.api_keys()]

    @public
    def revoke_key(self, id: str) -> ApiKey:
        """End a key."""
        with self.scope.engine.store.file_writer() as writer:
            ended = writer.revoke_key(id, at=self.scope.engine.now())
            stored = writer.key(id)
        if stored is None:
            raise NotFound(f"There is no key {id!r}.", fix="See everyword keys list.")
        if not ended:
            raise InvalidInput(f"The key {id} was revoked before.")
        return stored.key

    @public
    def key_for(self, given: Presented) -> ApiKey | None:
        """Find the key that somebody presents, whether or not it still counts; None where there is none."""
        with self.scope.engine.store.file_reader() as reader:
            stored = reader.key(given.id)
        return stored.key if stored is not None and given.matches(stored.hash) else None

    @public
    def needs_keys(self) -> bool:
        """Tell whether keys were ever made: from then on the service asks for one."""
        with self.scope.engine.store.file_reader() as reader:
            return reader.any_key()

    @public
    def add_webhook(self, url: str, *, kinds: Sequence[str] = ()) -> NewWebhook:
        """Send this space's changes to an address from now on; `everyword serve` delivers them.

        kinds: which news, such as "event" (default: all). Deliveries are signed with the secret, which is shown this
        once.
        """
        with self.scope.writer() as writer:
            position = feed(FeedScope(reader=writer), NOW, limit=1).position
            webhook = Webhook(
                id=f"wh_{secrets.token_hex(6)}",
                space=self.scope.space,
                url=_checked_url(url),
                kinds=_checked_kinds(kinds),
                created_at=self.scope.moment(None),
                position=position,
            )
            secret = SECRET_PREFIX + b64encode(secrets.token_bytes(32)).decode()
            writer.file.put_webhook(webhook, secret)
        return NewWebhook(webhook=webhook, secret=secret)

    @public
    def webhooks(self) -> list[Webhook]:
        """List the webhooks of all spaces, and how far each got."""
        with self.scope.engine.store.file_reader() as reader:
            return [stored.webhook for stored in reader.webhooks()]

    @public
    def remove_webhook(self, id: str) -> None:
        """Remove a webhook."""
        with self.scope.engine.store.file_writer() as writer:
            if not writer.delete_webhook(id):
                raise NotFound(f"There is no webhook {id!r}.", fix="See everyword webhooks list.")

    @public
    def deliver_webhooks(self, send: Send, lay: FeedToJson, *, going_on: Callable[[], bool] | None = None) -> int:
        """Deliver what is due to every webhook; return the number of deliveries. `everyword serve` does this.

        send: posts a body with headers to an address and returns an error text or None. lay: news as a JSON document.
        going_on: called before each delivery; False stops.
        """
        return deliver(self.scope.engine, send, lay, going_on or (lambda: True))

    # What our own surfaces need

    @public
    def activity(
        self,
        *,
        wing: str | None = None,
        speaker: str | None = None,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        parts: int = 120,
    ) -> Activity:
        """Count events over time, in equal parts; from the first to the last event, unless a span is given.

        Tells also whom and which wings there is to choose from, whatever is chosen now.
        """
        most = checked_count("parts", parts, _MOST_PARTS)
        which = self.scope.filter(wing=wing, speaker=speaker, session=session, since=since, until=until)
        with self.scope.reader() as reader:
            found = reader.extent(which)
            begin = found.first_at or 0 if which.since is None else to_micros(which.since)[0]
            end = (found.last_at or 0) + 1 if which.until is None else to_micros(which.until)[0]
            end = max(begin, end)
            # The last part ends after the last event.
            width = max(1, -(-(end - begin) // most))
            counts = [found.events] + [0] * (most - 1)
            if most > 1 and found.events:
                counts = reader.counted(which, begin=begin, width=width, parts=most)
            speakers = reader.speakers(wing=self.scope.wing, limit=_MOST_NAMES)
            wings = [self.scope.wing] if self.scope.wing is not None else reader.wings(limit=_MOST_NAMES)
        return Activity(
            begin=from_micros(begin) if found.events else None,
            end=from_micros(end) if found.events else None,
            events=found.events,
            counts=tuple(counts),
            speakers=tuple(speakers),
            wings=tuple(wings),
        )

    @public
    @spelled_out(Conditions)
    def glance(
        self,
        query: str,
        k: int | Literal["auto"] | None = 10,
        *,
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Find events by their words alone, in a moment: what a reader may look at while `recall` compares meanings.

        Takes what `recall` takes. No model is asked, so there is no confidence either.
        """
        which = self.scope.filter(**conditions)
        count = None if k is None or k == AUTO else checked_count("k", k, MOST_HITS)
        return search_hits(self.scope, checked_question(query), count, which, self.scope.moment(now), by_words=True)

    @public
    @spelled_out(EventConditions)
    def page_of_events(
        self,
        *,
        cursor: str | None = None,
        newest_first: bool = False,
        limit: int = 100,
        **conditions: Unpack[EventConditions],
    ) -> Page[Event]:
        """Read a page of events(); cursor: the `next` of the page before."""
        which = self.scope.filter(**conditions)
        most = checked_count("limit", limit, _MOST_A_PAGE)
        after = None if cursor is None else Cursor(*_numbers(cursor, 2))
        with self.scope.reader() as reader:
            rows = reader.page(which, after=after, newest_first=newest_first, limit=most + 1)
        return Page((event for _, event in rows[:most]), next=_cursor(*rows[most - 1][0]) if len(rows) > most else None)

    @public
    @spelled_out(SessionConditions)
    def page_of_sessions(
        self,
        *,
        cursor: str | None = None,
        order: str = SessionOrder.LATEST,
        limit: int = 100,
        **conditions: Unpack[SessionConditions],
    ) -> Page[Session]:
        """Read a page of sessions(); cursor: the `next` of the page before."""
        which = self.scope.filter(**conditions)
        most, by = checked_count("limit", limit, _MOST_A_PAGE), checked_order(order)
        with self.scope.reader(STATEMENTS, FACTS) as reader:
            entries = entries_after(cursor, most, lambda limit: list_sessions(reader, which, by, limit=limit))
            shown = with_summaries(reader, entries.found[:most], which)
        return Page(shown, next=entries.next(most))

    @public
    def page_of_statements(
        self,
        *,
        cursor: str | None = None,
        kind: str | None = None,
        about: str | None = None,
        status: str = Status.CURRENT,
        tag: str | None = None,
        as_of: Time | None = None,
        newest_first: bool = False,
        limit: int = 100,
    ) -> Page[Statement]:
        """Read a page of statements(); cursor: the `next` of the page before."""
        which = statement_filter(self.scope, kind=kind, about=about, status=status, tag=tag, as_of=as_of)
        most = checked_count("limit", limit, _MOST_A_PAGE)
        after = 0 if cursor is None else _numbers(cursor, 1)[0]
        with self.scope.reader(STATEMENTS) as reader:
            rows = reader.statements(which, after=after, newest_first=newest_first, limit=most + 1)
        return Page((one for _, one in rows[:most]), next=_cursor(rows[most - 1][0]) if len(rows) > most else None)

    @public
    def fenced(self, text: str) -> str:
        """Put lines that quote this memory in a fence, for a prompt of your own: recorded text, not instructions.

        Hidden characters are replaced. Nobody who writes to the memory can know the fence, and the same text always
        gets the same one, so that it can be cached.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"text must be a string, not {type(text).__name__}.")
        with self.scope.engine.store.file_reader() as reader:
            return fenced(visible(text), self.scope.engine.fence_key.of(reader))

    @public
    def meta_values(self, name: str) -> list[Json]:
        """List the different values that a member of `meta` has: who the users are, say, if events name them there.

        Lists, objects and values of more than 200 characters are left out.
        """
        if not isinstance(name, str):
            raise InvalidInput(f"name must be a string, not {type(name).__name__}.")
        with self.scope.reader() as reader:
            return [json.loads(value) for value in reader.meta_values(name, wing=self.scope.wing)]

    @public
    def redacted(
        self, event: Mapping[str, Json], *, redact: str | None = None, on_found: Callable[[Any], None] | None = None
    ) -> dict[str, Json]:
        """Take secrets out of an event as `add` would, without writing it.

        redact: "credentials", "personal" or "none" (default: as the memory is set). on_found: is called with what each
        secret is and where it stood, never the secret itself.
        """
        from everyword.ingest.redaction.redact import redact_event, rules_of

        clean, found = redact_event(event, rules_of(self.scope.engine.settings, redact))
        if on_found is not None:
            for one in found:
                on_found(one)
        return clean

    @public
    def forgotten(self, events: Iterable[Mapping[str, Json]]) -> list[bool]:
        """Tell for each of these events whether it was forgotten and is not there now.

        For programs that read their files again. An event is recognised by its session, speaker and time; of new
        events that have all three of a forgotten one, one in 64 is taken for it.
        """
        from everyword.ingest.importing import were_forgotten

        given = list(events)
        if not all(isinstance(event, Mapping) for event in given):
            raise InvalidInput("events must be a list of mappings, as add_many takes them.")
        return were_forgotten(self.scope.engine, self.scope.space, given)

    def _arrived(self) -> Iterator[Event]:
        """Go through events in the order of arrival, in which what they state was derived."""

        def page(after: int, size: int) -> Sequence[tuple[int, Event]]:
            with self.scope.reader() as reader:
                return reader.log(after=after, limit=size)

        events = in_pages(self.scope, page, 0)
        return (event for event in events if event.record is None and self.scope.wing in (None, event.wing))

    def _graph(self) -> tuple[list[Entity], list[Fact], list[Session]]:
        which = Filter(wing=self.scope.wing)
        entities = list_entities(self.scope, type=None, prefix=None, limit=None)
        with self.scope.reader(STATEMENTS, FACTS) as reader:
            sessions = with_summaries(reader, reader.sessions(which), which)
        return entities, list_facts(self.scope), sessions


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("idna")  # refuses labels that no name can have
        usable = parts.scheme in ("http", "https") and bool(host) and parts.username is None
        _ = parts.port  # which it may refuse
    except (ValueError, AttributeError, TypeError):
        usable = False
    if not usable or len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        raise InvalidInput(f"{str(url)[:80]!r} is not an address of http or https.")
    return url


def _checked_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if isinstance(kinds, str) or unknown:
        raise InvalidInput(f"Unknown kinds {kinds!r}.", fix=f"Give a list of {', '.join(KINDS)}.")
    return tuple(dict.fromkeys(kinds))


def _cursor(*numbers: int) -> str:
    return ".".join(map(str, numbers))


def _numbers(cursor: str, count: int) -> tuple[int, ...]:
    """Read a cursor. It needs no signature: within its own space, everyone may stand anywhere."""
    found = _CURSORS[count].fullmatch(cursor) if isinstance(cursor, str) else None
    if found is None:
        raise InvalidInput("The cursor is not one of this list.", fix="Give `next` of the previous page, unchanged.")
    return tuple(int(number) for number in found.groups())
