"""What a store must do for the temporal graph: names, mentions, claims, facts, summaries of sessions, edits by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from recollect.core.graph import Fact, FactDraft, KnownName

SPEAKS = -1  # the place of a mention that is no place: the event was said by who has this name
LOOKED_UP = -2  # the name was known, and decided which words of the event are a name; it stands there under another


class GraphState(NamedTuple):
    """How far the graph of a space is, and which caches of its names still hold."""

    upto: int | None  # events behind this one are still to be read; None: all are
    version: int
    epoch: int


class NameRow(NamedTuple):
    """A name, and whom it belongs to."""

    id: str
    home: str  # the id of an entity
    known: KnownName
    events: int
    first_at: int  # microseconds
    last_at: int


class MentionRow(NamedTuple):
    """A name in an event."""

    name: str  # id
    seq: int
    start: int
    stop: int
    type: str
    votes: int  # hundredths
    kin: str | None = None
    owner: str | None = None
    bare: bool = False


class FactKey(NamedTuple):
    """Facts that bear on one another: a subject, a relation, and the object where there can be several at a time."""

    subject: str
    relation: str
    object: str | None = None  # None: any


class ClaimRow(NamedTuple):
    """A claim, its number, and the event that makes it."""

    number: int
    seq: int
    draft: FactDraft  # given to the entities that its names belong to


class SummaryRow(NamedTuple):
    """What a session was about, as far as it was read."""

    session: str
    events: int
    pending: int  # events that came since
    body: str


class Edit(NamedTuple):
    """A merge or split by hand."""

    number: int
    at: int
    kind: str
    undone: bool
    pins: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """Which facts count. None means any; all conditions must hold."""

    subjects: tuple[str, ...] | None = None
    objects: tuple[str, ...] | None = None
    relation: str | None = None
    as_of: datetime | None = None  # true then
    open: bool | None = None
    conflicts: bool | None = None


class GraphReader(Protocol):
    """The graph of a snapshot."""

    def graph_state(self, space: str) -> GraphState:
        """Tell how far the graph is."""
        ...

    def names(self, space: str, *, changed_after: int = -1) -> list[NameRow]:
        """Read names that changed after a version of the graph."""
        ...

    def names_of(
        self, space: str, *, ids: Sequence[str] = (), keys: Sequence[str] = (), homes: Sequence[str] = ()
    ) -> list[NameRow]:
        """Read names by their ids, by what they fold to, or by whom they belong to."""
        ...

    def homes_by_prefix(self, space: str, *, prefix: str, type: str | None, wing: str | None, limit: int) -> list[str]:
        """List entities one of whose names begins so, those that are named by most events first."""
        ...

    def mentions(self, space: str, *, seqs: Sequence[int] = (), homes: Sequence[str] = ()) -> list[MentionRow]:
        """Read where events name what, by the events or by the entities."""
        ...

    def mentions_of_name(self, space: str, id: str) -> list[MentionRow]:
        """Read where one name stands, and where it was only looked up, in the order of arrival."""
        ...

    def first_named(self, space: str, ids: Sequence[str]) -> dict[str, int]:
        """Tell the first event that has each name, or was said by it, by the ids of the names."""
        ...

    def named_in_sessions(self, space: str, sessions: Sequence[str], *, most: int) -> dict[str, list[str]]:
        """List the entities that each session names most often."""
        ...

    def claims(self, space: str, key: FactKey) -> list[ClaimRow]:
        """Read what was claimed, of the facts that bear on one another."""
        ...

    def claims_of(
        self,
        space: str,
        *,
        seqs: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        homes: Sequence[str] | None = None,
        latest: int = ...,
    ) -> list[ClaimRow]:
        """Read what events claim, or what is claimed of names or of entities, as subject or object.

        latest: of entities, so many at most, those that were learned last.
        """
        ...

    def session_seqs(self, space: str, session: str) -> list[int]:
        """List the events of a session, in the order in which they happened."""
        ...

    def facts(self, space: str, which: FactFilter, *, limit: int, offset: int = 0, sources: bool = True) -> list[Fact]:
        """List facts, by subject, relation and time, each with what it rests on, or without."""
        ...

    def longest_facts(self, space: str, subject: str | None, *, since: int, until: int, limit: int) -> list[Fact]:
        """List the facts that were true in a span, in microseconds: those that were so for most of it first."""
        ...

    def fact_subjects(self, space: str) -> list[str]:
        """List those whom there are facts of."""
        ...

    def facts_by_id(self, space: str, ids: Sequence[str]) -> dict[str, Fact]:
        """Look facts up, each with what it rests on."""
        ...

    def fact_keys(self, space: str, claims: Sequence[int]) -> list[FactKey]:
        """Tell which facts rest on some claims now."""
        ...

    def fact_rows(self, space: str, key: FactKey) -> dict[str, str]:
        """Read the facts that bear on one another, each as one line of text, by id."""
        ...

    def summaries(self, space: str, sessions: Sequence[str] | None = None) -> list[SummaryRow]:
        """Read what sessions were about."""
        ...

    def edits(self, space: str) -> list[Edit]:
        """Read what was said by hand of who is who, the oldest first."""
        ...

    def graph_counts(self, space: str) -> dict[str, int]:
        """Count entities, facts, conflicts and the like."""
        ...


class GraphWriter(GraphReader, Protocol):
    """Changes to the graph, within a transaction."""

    def set_graph(self, space: str, *, upto: int | None, gone: bool = False) -> int:
        """Note how far the graph is; `gone` makes caches start anew. Gives the new version."""
        ...

    def put_names(self, space: str, rows: Iterable[NameRow], *, version: int) -> None:
        """Add names, or what was learned of them; counts and times add to those that are there."""
        ...

    def replace_name(self, space: str, row: NameRow, *, version: int) -> None:
        """Put a name in place of what is there."""
        ...

    def drop_names(self, space: str, ids: Sequence[str]) -> None:
        """Remove names."""
        ...

    def move_names(self, space: str, homes: Mapping[str, str], *, version: int) -> None:
        """Give names to other entities."""
        ...

    def put_mentions(self, space: str, rows: Iterable[MentionRow]) -> None:
        """Add where events name what; the names are there."""
        ...

    def drop_mentions(self, space: str, seqs: Sequence[int]) -> None:
        """Remove where events name what."""
        ...

    def put_claims(self, space: str, claims: Iterable[tuple[int, FactDraft]]) -> None:
        """Add what events claim."""
        ...

    def drop_claims(self, space: str, seqs: Sequence[int]) -> None:
        """Remove what events claim; facts that rest on it are to be folded anew by the caller."""
        ...

    def put_facts(self, space: str, facts: Sequence[tuple[Fact, str, Sequence[int]]]) -> None:
        """Add facts, each with its line of text and the numbers of its claims; one with the same id goes."""
        ...

    def drop_facts(self, space: str, ids: Sequence[str]) -> None:
        """Remove facts."""
        ...

    def drop_graph(self, space: str, *, from_seq: int) -> None:
        """Remove what events from one on named and claimed, and all facts; from 0, all that is derived."""
        ...

    def put_summary(self, space: str, row: SummaryRow) -> None:
        """Keep what a session was about."""
        ...

    def count_pending(self, space: str, sessions: Mapping[str, int]) -> list[SummaryRow]:
        """Note how many events came to sessions since they were summarised; give these as they are now."""
        ...

    def drop_summaries(self, space: str, sessions: Sequence[str]) -> None:
        """Remove what sessions were about."""
        ...

    def put_edit(self, space: str, *, at: int, kind: Literal["merge", "split"], pins: Mapping[str, str]) -> int:
        """Keep a merge or split by hand; give its number."""
        ...

    def undo_edit(self, space: str, number: int) -> bool:
        """Take an edit back; False where there is none that holds."""
        ...

    def drop_loose_pins(self, space: str) -> None:
        """Remove what was said by hand of names that are no more."""
        ...

    def memo(self, space: str) -> dict[str, object]:
        """Give what this process remembers of a space between transactions; it is emptied when one fails."""
        ...
