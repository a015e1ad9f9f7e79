"""Remove the effects of forgotten events from the graph, as if they had never been said.

Votes for a name go with the events that cast them. A later event that was read differently because of them is read
again, and so are the events that this changes in turn. Usually these are few or none.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everyword.knowledge.graph import bearing_on, fold, key_of, mentions_of, read_names, rehome, reread, speaker_of
from everyword.knowledge.legacy.extract.entities import NameIndex
from everyword.knowledge.legacy.extract.entities.index import TRUSTED
from everyword.knowledge.legacy.extract.entities.lexicon import kin_of
from everyword.knowledge.sessions import forget_sessions
from everyword.knowledge.statements import stated
from everyword.storage.protocol import FACTS, LOOKED_UP, SPEAKS, FactKey, MentionRow, NameRow, Writer
from everyword.types.events import Event
from everyword.types.graph import KnownName, name_key

_MOST_REREAD = 512  # events within `forget`; if there are more, `settle` reads all later events


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What the graph loses with some events, collected before they are removed."""

    seqs: frozenset[int]
    lost: Mapping[str, _Lost]  # lost votes, by name id
    rows: Mapping[str, Sequence[MentionRow]]  # all mentions of these names, before the removal
    keys: frozenset[FactKey]
    sessions: frozenset[str]


def going(writer: Writer, seqs: Iterable[int]) -> Going:
    """Collect what the graph will lose with some events."""
    gone = sorted(seqs)
    events = writer.fetch(gone)
    lost: dict[str, _Lost] = {}
    for row in writer.mentions(seqs=gone):
        if row.start != LOOKED_UP:
            lost.setdefault(row.name, _Lost()).add(row, events[row.seq])
    return Going(
        seqs=frozenset(gone),
        lost=lost,
        rows={id: writer.mentions_of_name(id) for id in lost},
        keys=frozenset(bearing_on(writer, gone)),
        sessions=frozenset(event.session for event in events.values() if event.session is not None),
    )


def graph_without(writer: Writer, going: Going) -> None:
    """Update the graph after events were removed."""
    version = writer.next_graph_version(gone=True)
    behind = _Behind(writer, going)
    again = behind.read()
    vanished: list[str] = []
    for row in writer.names_of(ids=sorted(going.lost.keys() | behind.changed)):
        same = row.id in going.lost and row.id not in behind.changed
        left = _left(writer, row, going.lost[row.id]) if same else _from_rows(writer, row)
        if left is None:
            vanished.append(row.id)
        else:
            writer.replace_name(left, version=version)
    if vanished:
        writer.drop_names(vanished)
        writer.drop_loose_pins()
    fold(writer, going.keys)
    rehome(writer)
    forget_sessions(writer, going.sessions)
    if again is not None:
        restart(writer, again)


class _Behind:
    """Later events whose reading depended on names of the removed events."""

    def __init__(self, writer: Writer, going: Going) -> None:
        self._writer = writer
        self._space = writer.space
        self._before: dict[str, Sequence[MentionRow]] = dict(going.rows)
        self._after: dict[str, list[MentionRow]] = {
            id: [row for row in rows if row.seq not in going.seqs] for id, rows in going.rows.items()
        }
        self._waiting: list[int] = []
        self.changed: set[str] = set()  # names that events were read again for

    def read(self) -> int | None:
        """Read affected events again; return an event from which on all must be read again, if there is one."""
        for id in sorted(self._before):
            if (unknown := self._expect(id, after=0)) is not None:
                return unknown
        done: set[int] = set()
        while self._waiting:
            seq = heapq.heappop(self._waiting)
            if seq in done:
                continue
            done.add(seq)
            if len(done) > _MOST_REREAD or not self._read_again(seq):
                return seq
            for id in sorted(self.changed):
                if (unknown := self._expect(id, after=seq)) is not None:
                    return unknown
        return None

    def _expect(self, id: str, *, after: int) -> int | None:
        """Queue the events that saw a name differently; return one where the name is newly known."""
        then, now = _Trust(self._before[id]), _Trust(self._after[id])
        for seq in sorted({row.seq for row in (*self._before[id], *self._after[id])}):
            was, is_now = then.until(seq), now.until(seq)
            if seq > after and is_now[0] and not was[0]:
                return seq  # which events looked for it in vain is not stored
            if seq > after and was != is_now and any(row.seq == seq and row.start != SPEAKS for row in self._after[id]):
                heapq.heappush(self._waiting, seq)
        return None

    def _read_again(self, seq: int) -> bool:
        """Read one event with what was known before it; False where that finds a name that it had not."""
        writer = self._writer
        event = writer.fetch([seq])[seq]
        before = writer.mentions(seqs=[seq])
        after = read_names(event, seq, self._known_before(seq, {row.name for row in before}))
        if set(after) == set(before):
            return True
        if {row.name for row in after} - {row.name for row in before}:
            return False
        for id in sorted({row.name for row in before}):
            self._rows(id)
            self._after[id] = sorted(
                [*(row for row in self._after[id] if row.seq != seq), *(row for row in after if row.name == id)],
                key=lambda row: (row.seq, row.start),
            )
            self.changed.add(id)
        writer.drop_mentions([seq])
        writer.put_mentions(after)
        reread(writer, stated(writer, [seq]))
        return True

    def _known_before(self, seq: int, ids: set[str]) -> NameIndex:
        """Build the index of names as it was before an event."""
        index = NameIndex(self._space)
        for row in self._writer.names_of(ids=sorted(ids)):
            own = [one for one in self._rows(row.id) if one.seq < seq and one.start != LOOKED_UP]
            if own:
                index.restore(_counted(row, own, row.known.written))
        return index

    def _rows(self, id: str) -> Sequence[MentionRow]:
        if id not in self._after:
            self._before[id] = self._writer.mentions_of_name(id)
            self._after[id] = list(self._before[id])
        return self._after[id]


class _Trust:
    """How far a name was trusted as events arrived."""

    def __init__(self, rows: Sequence[MentionRow]) -> None:
        self._rows = [row for row in rows if row.start != LOOKED_UP]
        self._place = 0
        self._votes: Counter[str] = Counter()
        self._sure = False

    def until(self, seq: int) -> tuple[bool, str | None]:
        """Tell whether the name was trusted before an event, and as which type. Call in the order of events."""
        while self._place < len(self._rows) and self._rows[self._place].seq < seq:
            row = self._rows[self._place]
            self._votes[row.type] += row.votes
            self._sure = self._sure or row.start == SPEAKS or row.votes >= TRUSTED
            self._place += 1
        # In scripts without capitals a name counts as known once it occurred.
        return self._sure, min(self._votes, key=lambda type: (-self._votes[type], type), default=None)


def restart(writer: Writer, seq: int) -> None:
    """Roll back the graph to before an event, so that later events are read again."""
    writer.drop_graph(from_seq=seq)
    writer.set_cursor(FACTS, min(writer.cursor(FACTS), seq - 1))
    version = writer.next_graph_version(gone=True)
    touched: list[str] = []
    for row in writer.names():
        known = _from_rows(writer, row)
        if known is None:
            touched.append(row.id)
        elif known != row:
            writer.replace_name(known, version=version)
    if touched:
        writer.drop_names(touched)
    rehome(writer)
    fold(writer, {key_of(claim.draft) for claim in writer.claims_of()})


@dataclass(slots=True)
class _Lost:
    """The spellings of a name in some events."""

    written: Counter[str] = field(default_factory=Counter[str])
    seqs: set[int] = field(default_factory=set[int])

    def add(self, row: MentionRow, event: Event) -> None:
        self.written[_shown(row, event)] += 1
        self.seqs.add(row.seq)


def _shown(row: MentionRow, event: Event) -> str:
    """Return the spelling that was counted in the index."""
    speaker = speaker_of(event) or ""
    if row.start == SPEAKS:
        return speaker
    if row.bare and row.kin:
        return NameIndex.shown_of(mentions_of(event, [row])[0], speaker)
    return event.text[row.start : row.stop]


def _left(writer: Writer, row: NameRow, lost: _Lost) -> NameRow | None:
    """Return what is left of a name, or None."""
    rows = [one for one in writer.mentions_of_name(row.id) if one.start != LOOKED_UP]
    if not rows:
        return None
    first_at, last_at, owners = _extent(writer, rows)
    known = _counted(row, rows, _without(row.known.written, lost.written), owners)
    return NameRow(row.id, row.home, known, row.events - len(lost.seqs), first_at, last_at)


def _from_rows(writer: Writer, row: NameRow) -> NameRow | None:
    """Recount a name from its mentions; return None if it has none."""
    rows = [one for one in writer.mentions_of_name(row.id) if one.start != LOOKED_UP]
    if not rows:
        return None
    made = _Lost()
    events = writer.fetch(sorted({one.seq for one in rows}))
    for one in rows:
        made.add(one, events[one.seq])
    first_at, last_at, owners = _extent(writer, rows)
    known = _counted(row, rows, dict(sorted(made.written.items())), owners)
    return NameRow(row.id, row.home, known, len(made.seqs), first_at, last_at)


def _counted(
    row: NameRow, rows: Sequence[MentionRow], written: Mapping[str, int], owners: tuple[tuple[str, str], ...] = ()
) -> KnownName:
    votes: Counter[str] = Counter()
    for one in rows:
        votes[one.type] += one.votes
    return KnownName(
        key=row.known.key,
        written=written,
        votes=dict(sorted(votes.items())),
        surest=max(one.votes for one in rows),
        speaks=any(one.start == SPEAKS for one in rows),
        kin=owners,
    )


def _extent(writer: Writer, rows: Sequence[MentionRow]) -> tuple[int, int, tuple[tuple[str, str], ...]]:
    """Return when a name was first and last mentioned, and whose relative it names."""
    outlines = writer.outlines(sorted({row.seq for row in rows}))
    times = [outline.at for outline in outlines.values()]
    bound = [row for row in rows if row.kin and not row.bare]
    events = writer.fetch(sorted({row.seq for row in bound}))
    owners = {
        (name_key(owner), kin_of(row.kin))
        for row in bound
        if row.kin and (owner := row.owner or speaker_of(events[row.seq]))
    }
    return min(times), max(times), tuple(sorted(owners))


def _without(whole: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    return {what: left for what, count in whole.items() if (left := count - less.get(what, 0)) > 0}
