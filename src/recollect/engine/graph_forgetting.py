"""Forgetting in the graph: what events had brought is taken back, as if they had never been said.

Votes for a name go with the events that cast them. Where a later event was read as it was only because of them, that
event and all behind it are read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.core.graph import KnownName, name_key
from recollect.core.values import Event
from recollect.engine.graph import fold, key_of, mentions_of, rehome, speaker_of
from recollect.engine.summaries import forget_sessions
from recollect.extract.entities import NameIndex
from recollect.extract.entities.index import TRUSTED
from recollect.extract.entities.lexicon import kin_of
from recollect.store.graph import LOOKED_UP, SPEAKS, FactKey, MentionRow, NameRow
from recollect.store.protocol import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What the graph loses with some events, as it was before they went."""

    names: Mapping[str, KnownName]  # votes and spellings that go, by the id of the name
    events: Mapping[str, int]  # how many of those that name it
    keys: frozenset[FactKey]
    sessions: frozenset[str]
    restart: int | None  # the first event that would be read otherwise without them


def going(writer: Writer, space: str, seqs: Iterable[int]) -> Going:
    """Tell what the graph will lose with some events."""
    gone = sorted(seqs)
    events = writer.fetch(space, gone)
    lost: dict[str, _Lost] = {}
    for row in writer.mentions(space, seqs=gone):
        if row.start != LOOKED_UP:
            lost.setdefault(row.name, _Lost()).add(row, events[row.seq])
    restarts = [
        seq for id in lost if (seq := _read_otherwise(writer.mentions_of_name(space, id), set(gone))) is not None
    ]
    numbers = [claim.number for claim in writer.claims_of(space, seqs=gone)]
    return Going(
        names={id: KnownName(key="", written=one.written, votes=one.votes) for id, one in lost.items()},
        events={id: len(one.seqs) for id, one in lost.items()},
        keys=frozenset(writer.fact_keys(space, numbers)),
        sessions=frozenset(event.session for event in events.values() if event.session is not None),
        restart=min(restarts, default=None),
    )


def graph_without(writer: Writer, space: str, lost: Going) -> None:
    """Put the graph right after events went."""
    version = writer.set_graph(space, upto=writer.graph_state(space).upto, gone=True)
    vanished: list[str] = []
    for row in writer.names_of(space, ids=sorted(lost.names)):
        left = _left(writer, space, row, lost)
        if left is None:
            vanished.append(row.id)
        else:
            writer.replace_name(space, left, version=version)
    if vanished:
        writer.drop_names(space, vanished)
        writer.drop_loose_pins(space)
    fold(writer, space, lost.keys)
    rehome(writer, space)
    forget_sessions(writer, space, lost.sessions)
    if lost.restart is not None:
        restart(writer, space, lost.restart)


def restart(writer: Writer, space: str, seq: int) -> None:
    """Take back what events from one on brought, so that they can be read again."""
    upto = writer.graph_state(space).upto
    writer.drop_graph(space, from_seq=seq)
    version = writer.set_graph(space, upto=seq - 1 if upto is None else min(upto, seq - 1), gone=True)
    touched: list[str] = []
    for row in writer.names(space):
        known = _from_rows(writer, space, row)
        if known is None:
            touched.append(row.id)
        elif known != row:
            writer.replace_name(space, known, version=version)
    if touched:
        writer.drop_names(space, touched)
    rehome(writer, space)
    fold(writer, space, {key_of(claim.draft) for claim in writer.claims_of(space)})


@dataclass(slots=True)
class _Lost:
    written: Counter[str] = field(default_factory=Counter[str])
    votes: Counter[str] = field(default_factory=Counter[str])
    seqs: set[int] = field(default_factory=set[int])

    def add(self, row: MentionRow, event: Event) -> None:
        self.written[_shown(row, event)] += 1
        self.votes[row.type] += row.votes
        self.seqs.add(row.seq)


def _shown(row: MentionRow, event: Event) -> str:
    """Write a name as the index was told it."""
    speaker = speaker_of(event) or ""
    if row.start == SPEAKS:
        return speaker
    if row.bare and row.kin:
        return NameIndex.shown_of(mentions_of(event, [row])[0], speaker)
    return event.text[row.start : row.stop]


def _read_otherwise(rows: Sequence[MentionRow], gone: set[int]) -> int | None:
    """Find the first event that knew a name by events that go, and would not know it, or not as this, without them."""
    then, now = _Trust(), _Trust()
    place = 0
    while place < len(rows):
        seq, end = rows[place].seq, place
        while end < len(rows) and rows[end].seq == seq:
            end += 1
        if seq not in gone and then.answer != now.answer:
            return seq
        for row in rows[place:end]:
            if row.start != LOOKED_UP:
                then.add(row)
                if seq not in gone:
                    now.add(row)
        place = end
    return None


class _Trust:
    """What the index would say of a name."""

    def __init__(self) -> None:
        self.votes: Counter[str] = Counter()
        self.sure = False

    def add(self, row: MentionRow) -> None:
        self.votes[row.type] += row.votes
        self.sure = self.sure or row.start == SPEAKS or row.votes >= TRUSTED

    @property
    def answer(self) -> tuple[bool, str | None]:
        # Scripts without capitals know a name as soon as it was there at all.
        best = min(self.votes, key=lambda type: (-self.votes[type], type), default=None)
        return self.sure, best


def _left(writer: Writer, space: str, row: NameRow, lost: Going) -> NameRow | None:
    """Give what is left of a name; None where nothing is."""
    events = row.events - lost.events[row.id]
    if events <= 0:
        return None
    less = lost.names[row.id]
    rows = [one for one in writer.mentions_of_name(space, row.id) if one.start != LOOKED_UP]
    first_at, last_at, owners = _reach(writer, space, rows)
    known = KnownName(
        key=row.known.key,
        written=_without(row.known.written, less.written),
        votes=_without(row.known.votes, less.votes),
        surest=max(one.votes for one in rows),
        speaks=any(one.start == SPEAKS for one in rows),
        kin=owners,
    )
    return NameRow(row.id, row.home, known, events, first_at, last_at)


def _from_rows(writer: Writer, space: str, row: NameRow) -> NameRow | None:
    """Make a name again from where it stands; None where it stands nowhere."""
    rows = [one for one in writer.mentions_of_name(space, row.id) if one.start != LOOKED_UP]
    if not rows:
        return None
    lost = _Lost()
    events = writer.fetch(space, sorted({one.seq for one in rows}))
    for one in rows:
        lost.add(one, events[one.seq])
    first_at, last_at, owners = _reach(writer, space, rows)
    known = KnownName(
        key=row.known.key,
        written=dict(sorted(lost.written.items())),
        votes=dict(sorted(lost.votes.items())),
        surest=max(one.votes for one in rows),
        speaks=any(one.start == SPEAKS for one in rows),
        kin=owners,
    )
    return NameRow(row.id, row.home, known, len(lost.seqs), first_at, last_at)


def _reach(writer: Writer, space: str, rows: Sequence[MentionRow]) -> tuple[int, int, tuple[tuple[str, str], ...]]:
    """Tell when a name was first and last spoken of, and whose relation it is."""
    outlines = writer.outlines(space, sorted({row.seq for row in rows}))
    times = [outline.at for outline in outlines.values()]
    bound = [row for row in rows if row.kin and not row.bare]
    events = writer.fetch(space, sorted({row.seq for row in bound}))
    owners = {
        (name_key(owner), kin_of(row.kin))
        for row in bound
        if row.kin and (owner := row.owner or speaker_of(events[row.seq]))
    }
    return min(times), max(times), tuple(sorted(owners))


def _without(whole: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    return {what: left for what, count in whole.items() if (left := count - less.get(what, 0)) > 0}
