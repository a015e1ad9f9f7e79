"""Remove the effects of forgotten events from the graph, as if they had never been said.

Votes for a name go with the events that cast them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everyword.knowledge.graph import bearing_on, fold, mentions_of, rehome, speaker_of
from everyword.knowledge.llm_summaries import forget_written
from everyword.knowledge.names import NameIndex, kin_of
from everyword.storage.protocol import SPEAKS, FactKey, MentionRow, NameRow, Writer
from everyword.types.events import Event
from everyword.types.graph import KnownName, name_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What the graph loses with some events, collected before they are removed."""

    seqs: frozenset[int]
    lost: Mapping[str, _Lost]  # lost votes, by name id
    keys: frozenset[FactKey]
    sessions: frozenset[str]


def going(writer: Writer, seqs: Iterable[int]) -> Going:
    """Collect what the graph will lose with some events."""
    gone = sorted(seqs)
    events = writer.fetch(gone)
    lost: dict[str, _Lost] = {}
    for row in writer.mentions(seqs=gone):
        lost.setdefault(row.name, _Lost()).add(row, events[row.seq])
    return Going(
        seqs=frozenset(gone),
        lost=lost,
        keys=frozenset(bearing_on(writer, gone)),
        sessions=frozenset(event.session for event in events.values() if event.session is not None),
    )


def graph_without(writer: Writer, going: Going) -> None:
    """Update the graph after events were removed."""
    version = writer.next_graph_version(gone=True)
    vanished: list[str] = []
    for row in writer.names_of(ids=sorted(going.lost)):
        left = _left(writer, row, going.lost[row.id])
        if left is None:
            vanished.append(row.id)
        else:
            writer.replace_name(left, version=version)
    if vanished:
        writer.drop_names(vanished)
        writer.drop_loose_pins()
    fold(writer, going.keys)
    rehome(writer)
    forget_written(writer, sorted(going.sessions))


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
    rows = writer.mentions_of_name(row.id)
    if not rows:
        return None
    first_at, last_at, owners = _extent(writer, rows)
    known = _counted(row, rows, _without(row.known.written, lost.written), owners)
    return NameRow(row.id, row.home, known, row.events - len(lost.seqs), first_at, last_at)


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
