"""The feed of a space: what happened after a position, and whom it is told to.

The feed has no table of its own: it is read from the row numbers that the store assigns. `SOURCES` lists the kinds of
things in it. Intents have no rows: the feed reports one wherever an event is about it, as the intent stands at the time
of reading. Programs subscribe to it by callbacks for the writes of their process, or by polling for those of any
process. Webhooks get it at least once and in order: each is a durable queue by itself, whose position in the feed moves
only after its address has accepted everything up to there.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct, field

from everyword.engine.engine import Engine
from everyword.engine.retry import again
from everyword.errors import EverywordError
from everyword.jobs.deriver import catch_up, views_of
from everyword.knowledge.concept_labels import reworded
from everyword.storage.protocol import Reader
from everyword.storage.rows import Job, StatementFilter, StoredWebhook
from everyword.types.events import Event
from everyword.types.intents import LIVE, Intent
from everyword.types.records import RecordKind
from everyword.types.service import NOW, Feed, News, Waiting, Webhook, places_of, position_of
from everyword.types.times import from_micros

_WORDED = ("add_node", "update_node")  # actions in the journal that give a concept its words


class FeedScope(Struct, frozen=True, kw_only=True):
    """The space and wing whose feed is read, and a function that computes its intents."""

    reader: Reader
    wing: str | None = None
    intents: Callable[[], Sequence[Intent]] = tuple
    reported: set[str] = field(default_factory=set[str])  # ids of intents that this feed already holds


class Row(NamedTuple):
    """A numbered row of a source; `news` is None if there is nothing to report, or not to this wing."""

    number: int
    news: News | None


ReadSource = Callable[[FeedScope, int, int], list[Row]]  # the scope, the number to read after, how many rows at most


class Source(NamedTuple):
    """A source of the feed."""

    place: str  # its name in a position
    kind: str
    table: str  # whose row numbers it uses
    read: ReadSource


def feed_scope(engine: Engine, reader: Reader, wing: str | None = None) -> FeedScope:
    """Describe whose feed is read, with intents as of this minute."""
    minute = engine.clock().replace(second=0, microsecond=0)

    def intents() -> Sequence[Intent]:
        from everyword.knowledge.intents import cached_intents  # slow to import

        return cached_intents(engine, reader, wing=wing, now=minute)

    return FeedScope(reader=reader, wing=wing, intents=intents)


def feed(scope: FeedScope, after: str | None, *, limit: int) -> Feed:
    """Read what happened after a position. None is the beginning, "now" the end."""
    reader = scope.reader
    if after == NOW:
        return Feed(position=position_of({one.place: reader.last_number(one.table) for one in SOURCES}))
    places = {} if after is None else places_of(after)
    known = {
        # A source that is newer than the position starts at its current end.
        one.place: places.get(one.place, 0 if after is None else reader.last_number(one.table))
        for one in SOURCES
    }
    news: list[News] = []
    more = False
    for source in SOURCES:
        rows = source.read(scope, known[source.place], limit)
        news += [row.news for row in rows if row.news is not None]
        more = more or len(rows) >= limit
        if rows:
            known[source.place] = rows[-1].number
    return Feed(news, position=position_of(known), more=more)


def _read_events(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read events in the order of arrival."""
    rows = scope.reader.log(after=after, limit=limit)
    return [Row(seq, _news("event", one.recorded_at, one) if _sees(scope, one) else None) for seq, one in rows]


def _read_concepts(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the concepts that were formed and still exist, each at the entry that gave it its first label."""
    rows = scope.reader.fold_entries(after=after, limit=limit)
    ids = sorted({entry.node_id for _, entry in rows if entry.action in _WORDED})
    labelled = scope.reader.concepts_labelled_by(ids) if ids else {}
    new = [entry.node_id for number, entry in rows if labelled.get(entry.node_id) == number]
    found = scope.reader.concepts_by_id(new, wing=scope.wing) if new else {}
    if scope.wing is not None:
        found = {id: reworded(scope.reader, scope.wing, one) for id, one in found.items()}
    standing = {id: one for id, one in found.items() if one.closed_at is None and one.label}
    return [
        Row(number, _news("concept", entry.at, standing[entry.node_id]) if is_told else None)
        for number, entry in rows
        for is_told in [labelled.get(entry.node_id) == number and entry.node_id in standing]
    ]


def _read_jobs(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the jobs that were queued and still wait."""
    rows = scope.reader.jobs_of(after=after, limit=limit)
    events = scope.reader.fetch([row.seq for row in rows])
    return [
        Row(row.id, _news("job", event.recorded_at, waiting(row, event)) if event and _sees(scope, event) else None)
        for row in rows
        for event in [events.get(row.seq)]
    ]


def waiting(row: Job, event: Event | None) -> Waiting:
    """Convert a stored job to the public type."""
    return Waiting(
        id=row.id,
        kind=row.kind,
        event_id=None if event is None else event.id,
        attempts=row.attempts,
        due_at=from_micros(row.due_at),
        error=row.error,
    )


def _read_statements(scope: FeedScope, after: int, limit: int) -> list[Row]:
    rows = scope.reader.statements(StatementFilter(wing=scope.wing), after=after, limit=limit)
    return [Row(number, _news("statement", statement.recorded_at, statement)) for number, statement in rows]


def _read_intents(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the intents that people answered."""
    rows = scope.reader.log(after=after, limit=limit)
    answers = [(seq, one.id, one.recorded_at) for seq, one in rows if one.record == RecordKind.FEEDBACK]
    others = [Row(seq, None) for seq, one in rows if one.record != RecordKind.FEEDBACK]
    return sorted([*_intent_rows(scope, answers), *others], key=lambda row: row.number)


def _read_todos(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the intents that statements begin or settle."""
    rows = scope.reader.statements(StatementFilter(wing=scope.wing), after=after, limit=limit)
    return _intent_rows(scope, [(number, one.event_id, one.recorded_at) for number, one in rows])


def _intent_rows(scope: FeedScope, moments: Iterable[tuple[int, str, datetime]]) -> list[Row]:
    """Report the intents that events are about, each once."""
    rows: list[Row] = []
    by_event: dict[str, list[Intent]] | None = None
    for number, event_id, at in moments:
        by_event = _by_event(scope.intents()) if by_event is None else by_event
        fresh = [one for one in by_event.get(event_id, ()) if one.id not in scope.reported]
        scope.reported.update(one.id for one in fresh)
        rows += [Row(number, _news("intent", at, one)) for one in fresh] or [Row(number, None)]
    return rows


def _by_event(intents: Iterable[Intent]) -> dict[str, list[Intent]]:
    found: dict[str, list[Intent]] = {}
    for intent in intents:
        ends = () if intent.settled_by is None else (intent.settled_by.event_id,)
        for event_id in dict.fromkeys((*intent.events, *ends)):
            found.setdefault(event_id, []).append(intent)
    return found


def _read_forgotten(scope: FeedScope, after: int, limit: int) -> list[Row]:
    rows = scope.reader.receipts_after(after, limit=limit)
    # A receipt does not say to which wings its events belonged.
    return [Row(number, None if scope.wing else _news("forgotten", receipt.at, receipt)) for number, receipt in rows]


def _sees(scope: FeedScope, event: Event) -> bool:
    return event.record is None and (scope.wing is None or event.wing == scope.wing)


def _news(kind: str, at: datetime, item: object) -> News:
    return News(kind=kind, at=at, item=item)  # pyright: ignore[reportArgumentType]  each source gives its own kind


SOURCES = (
    Source("event", "event", "events", _read_events),
    Source("statement", "statement", "statements", _read_statements),
    Source("concept", "concept", "fold_journal", _read_concepts),
    Source("intent", "intent", "events", _read_intents),
    Source("todo", "intent", "statements", _read_todos),
    Source("job", "job", "jobs", _read_jobs),
    Source("forgotten", "forgotten", "receipts", _read_forgotten),
)
KINDS = tuple(dict.fromkeys(source.kind for source in SOURCES))


MOST_AN_HOUR = 5  # intents, or concepts, for one callback: more would not be read
_ROWS_AT_ONCE = 1_000  # rows read at once
_HOUR = timedelta(hours=1)


class ChangeKind(StrEnum):
    """What a program can subscribe to."""

    EVENT = "event"
    CONCEPT = "concept"
    INTENT = "intent"
    JOB = "job"


_BY_PLACE = {source.place: source for source in SOURCES}  # of the kinds that a program can subscribe to, but intents
_REPORTED_ONCE = (ChangeKind.INTENT, ChangeKind.CONCEPT)


def subscribe(
    engine: Engine, space: str, wing: str | None, kind: ChangeKind, callback: Callable[[Any], None]
) -> Callable[[], None]:
    """Call a function with each new item that a write of this process brings; return a function that ends this."""
    subscription = _Subscription(engine, space, wing, kind, most_an_hour=MOST_AN_HOUR)

    def notify(written: str) -> None:
        if written != space:
            return
        try:
            with subscription.lock:
                new = subscription.new_items()
        except Exception as error:  # the write is committed and must not fail now
            _warn(engine, error)
            return
        for item in new:  # not under the lock: a callback may write
            try:
                callback(item)
            except Exception as error:
                _warn(engine, error)

    engine.listeners.append(notify)

    def unsubscribe() -> None:
        if notify in engine.listeners:
            engine.listeners.remove(notify)

    return unsubscribe


def watch_changes(
    engine: Engine, space: str, wing: str | None, *, kinds: Sequence[ChangeKind], every: float, stop: threading.Event
) -> Iterator[tuple[str, Any]]:
    """Poll for new items of any process until `stop` is set; read rows only after the store has changed."""
    subscriptions = [_Subscription(engine, space, wing, kind) for kind in kinds]
    before: object = None
    while not stop.is_set():
        version = again(engine, partial(_version, engine, space))
        for one in subscriptions if version != before else ():
            one.catch_up()
            yield from ((one.kind.value, item) for item in one.new_items())
        before = version
        stop.wait(every)


def _version(engine: Engine, space: str) -> object:
    """Return a value that changes whenever there may be something new."""
    with engine.store.reader(space) as reader:
        return reader.file.pulse(), reader.cursors()


class _Subscription(Struct):
    """What one subscriber wants to know, from now on, and what it has been told."""

    engine: Engine
    space: str
    wing: str | None
    kind: ChangeKind
    most_an_hour: int | None = None  # of intents or concepts; None: all
    lock: threading.Lock = field(default_factory=threading.Lock)
    _known: set[str] = field(default_factory=set[str])
    _told_at: list[datetime] = field(default_factory=list[datetime])
    _position: int = 0  # number of the last row that was read

    def __post_init__(self) -> None:
        self.catch_up()
        again(self.engine, self._skip)

    def catch_up(self) -> None:
        """Derive what the subscriber is told of."""
        if self.kind in _REPORTED_ONCE:
            derive = partial(catch_up, self.engine, self.space, views_of(self.engine.settings))
            again(self.engine, derive, resumes=True)

    def new_items(self) -> list[Any]:
        """Return the items that the subscriber does not know, up to its hourly limit."""
        found = again(self.engine, self._found)
        if self.kind not in _REPORTED_ONCE:
            return found
        found, now = [one for one in found if one.id not in self._known], self.engine.clock()
        if self.most_an_hour is not None:
            self._told_at = [at for at in self._told_at if now - at < _HOUR]
            found = found[: max(0, self.most_an_hour - len(self._told_at))]
        self._known |= {one.id for one in found}
        self._told_at += [now] * len(found)
        return found

    def _skip(self) -> None:
        with self.engine.store.reader(self.space) as reader:
            if self.kind is ChangeKind.INTENT:
                self._known |= {one.id for one in self._intents(reader)}
            else:
                self._position = reader.last_number(_BY_PLACE[self.kind].table)

    def _found(self) -> list[Any]:
        with self.engine.store.reader(self.space) as reader:
            if self.kind is ChangeKind.INTENT:
                return self._intents(reader)
            found: list[Any] = []
            scope, position = FeedScope(reader=reader, wing=self.wing), self._position
            while rows := _BY_PLACE[self.kind].read(scope, position, _ROWS_AT_ONCE):
                found += [row.news.item for row in rows if row.news is not None]
                position = rows[-1].number
            self._position = position  # only now: an interrupted read starts over
            return found

    def _intents(self, reader: Reader) -> list[Intent]:
        from everyword.knowledge.intents import intents_in  # slow to import; most processes never subscribe

        return [one for one in intents_in(reader, now=self.engine.clock(), wing=self.wing) if one.status in LIVE]


def _warn(engine: Engine, error: Exception) -> None:
    engine.models.say(f"A listener failed ({type(error).__name__}: {error}).")


Send = Callable[[str, Mapping[str, str], bytes], str | None]  # address, headers, body; returns an error or None
FeedToJson = Callable[[Feed], object]

SECRET_PREFIX = "whsec_"
_MOST_OF_A_KIND = 100  # items in one delivery
_RETRY_FIRST_S = 2  # after a failed delivery; doubles up to an hour
_RETRY_MOST_S = 3_600
_LONGEST_ERROR = 500  # characters
_SECOND = 1_000_000  # microseconds


def deliver(engine: Engine, send: Send, to_json: FeedToJson, going_on: Callable[[], bool]) -> int:
    """Send every webhook that is due what waits for it; return the number of accepted deliveries."""
    due = [stored for stored in _webhooks(engine) if _is_due(stored.webhook, engine.now())]
    return sum(_deliver_to(engine, stored, send, to_json, going_on) for stored in due)


def sign(secret: str, id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Make the headers of a delivery, signed as Standard Webhooks specifies."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, f"{id}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _webhooks(engine: Engine) -> list[StoredWebhook]:
    with engine.store.file_reader() as reader:
        return reader.webhooks()


def _is_due(webhook: Webhook, now: int) -> bool:
    if webhook.due_at is None:
        return True
    left = int(webhook.due_at.timestamp() * _SECOND) - now
    return not 0 < left <= _RETRY_MOST_S * _SECOND  # a longer wait means that the clock was set back


def _deliver_to(
    engine: Engine, stored: StoredWebhook, send: Send, to_json: FeedToJson, going_on: Callable[[], bool]
) -> int:
    accepted, webhook = 0, stored.webhook
    while going_on():
        with engine.store.reader(webhook.space) as reader:
            found = feed(feed_scope(engine, reader), webhook.position, limit=_MOST_OF_A_KIND)
        if found.position == webhook.position:
            return accepted
        wanted = Feed([one for one in found if not webhook.kinds or one.kind in webhook.kinds], position=found.position)
        failure = _post(engine, stored, wanted, send, to_json) if wanted else None
        with engine.store.file_writer() as writer:
            if failure is not None:
                due_at = engine.next_attempt(webhook.attempts, first_s=_RETRY_FIRST_S, most_s=_RETRY_MOST_S)
                writer.fail_webhook(webhook, error=failure[:_LONGEST_ERROR], due_at=due_at)
                return accepted
            if not writer.move_webhook(webhook, found.position, delivered=len(wanted)):
                return accepted  # another process moved or removed it meanwhile
        accepted += bool(wanted)
        webhook = next((one.webhook for one in _webhooks(engine) if one.webhook.id == webhook.id), webhook)
    return accepted


def _post(engine: Engine, stored: StoredWebhook, wanted: Feed, send: Send, to_json: FeedToJson) -> str | None:
    webhook = stored.webhook
    # Every attempt at the same position has the same id, so that the receiver can drop duplicates.
    id = f"{webhook.id}_{hashlib.sha256(webhook.position.encode()).hexdigest()[:16]}"
    try:
        body = json.dumps({"webhook": webhook.id, "space": webhook.space, "changes": to_json(wanted)}).encode("ascii")
        return send(webhook.url, sign(stored.secret, id, engine.now() // _SECOND, body), body)
    except EverywordError as error:
        return str(error)
    except Exception as error:  # must not keep the other webhooks from being served
        return f"{type(error).__name__}: {error}"
