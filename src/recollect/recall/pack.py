"""Packing: hits -> prompt-ready lines within a token budget, counted exactly.

    8 May 2023
    [1] Ana: I went to the lake yesterday. (yesterday = 7 May 2023)

Words stand as they were said, rendered and fenced by `core/rendering.py`. The best hits are taken while they fit: whole
where possible, else the matching sentences; a line that means little by itself brings the turn before it. Lines of one
session stand together, in the order of time, under their day, so that a date is paid for once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from recollect.core.clock import day_in_words
from recollect.core.rendering import fence_tokens, fenced, one_line, said
from recollect.core.trust import is_vouched, label_of, source_of, trust_of
from recollect.core.values import Citation, Context, Event, Hit, Span
from recollect.inference.protocol import Tokenizer
from recollect.recall.dated import dates_worked_out
from recollect.recall.repeats import Repeats
from recollect.store.protocol import Known

_ELLIPSIS = "…"
_KNOWN = "Known now"
_LONGEST_TOKEN = 32  # characters, on average over a line
# Of a long event only the matching sentences are taken when the whole would cost more than this share of the budget:
# several lines of several sessions answer more than one long message.
_LARGE = 0.25


class Said(NamedTuple):
    """Words of an event."""

    event: Event
    seq: int
    span: Span


@dataclass(frozen=True)
class _Line:
    event: Event
    seq: int
    span: Span
    rank: int  # the smaller, the later it is given up

    @cached_property
    def words(self) -> str:
        """Write the line without its mark."""
        words, notes = self._parts()
        return words + (f" ({'; '.join(notes)})" if notes else "")

    @cached_property
    def dated_words(self) -> str:
        """Write it for a place where no day stands above it."""
        words, notes = self._parts()
        return f"{words} ({'; '.join((day_in_words(self.event.at), *notes))})"

    def _parts(self) -> tuple[str, list[str]]:
        event, span = self.event, self.span
        before = _ELLIPSIS if event.text[: span.start].strip() else ""
        after = _ELLIPSIS if event.text[span.end :].strip() else ""
        quote = event.text[span.start : span.end]
        notes = [one_line(note) for note in dates_worked_out(quote, event.at)]
        label = label_of(event)
        return said(f"{before}{quote}{after}", speaker=event.speaker, labels=[label] if label else []), notes

    @property
    def when(self) -> tuple[datetime, int]:
        """Tell its place in time: turns of one moment stand in the order in which they came."""
        return self.event.at, self.seq

    @cached_property
    def heading(self) -> tuple[str | None, str]:
        """Tell the session and the day under which it stands."""
        return self.event.session, day_in_words(self.event.at)


@dataclass(slots=True)
class _Packed:
    """What is chosen so far, and what it costs."""

    tokenizer: Tokenizer
    left: int
    mark: str  # the widest that a line may get
    lines: dict[str, _Line] = field(default_factory=dict[str, _Line])
    repeated: dict[str, int] = field(default_factory=dict[str, int])  # tokens of lines that repeat another, by source
    headings: set[tuple[str | None, str]] = field(default_factory=set[tuple[str | None, str]])

    def cost(self, line: _Line) -> int:
        heading = 0 if line.heading in self.headings else self.tokenizer.count(f"{line.heading[1]}\n\n")
        return heading + self.tokenizer.count(f"{self.mark} {line.words}\n")

    def take(self, line: _Line) -> None:
        self.left -= self.cost(line)
        self.lines[line.event.id] = line
        self.headings.add(line.heading)


def pack(
    hits: Sequence[Hit],
    budget: int,
    tokenizer: Tokenizer,
    *,
    leads: Mapping[str, Known] | None = None,
    instruction: str = "",
    known: Sequence[Said] = (),
    fence_key: bytes | None = None,
) -> Context:
    """Choose and lay out what fits; `leads` has by event id the turn that gives a line its meaning.

    `known` are statements for the head of the text; the events that they stand for are not told again. `fence_key`:
    what the fence around the lines is derived from; None for a random one.
    """
    head = f"{instruction}\n\n" if instruction and tokenizer.count(f"{instruction}\n\n") < budget else ""
    room = budget - (tokenizer.count(head) if head else 0) - fence_tokens(tokenizer.count)
    first, cost = _known(known, room, tokenizer)
    told = {line.event.id for line in first}
    chosen = _choose(hits, room - cost, tokenizer, leads or {}, told)
    while True:
        text, citations = _laid_out(chosen, first)
        text = head + fenced(text, fence_key) if text else ""
        tokens = tokenizer.count(text) if text else 0
        if tokens <= budget:
            return Context(
                text=text, tokens=tokens, budget=budget, tokenizer=tokenizer.name, citations=tuple(citations)
            )
        # Some tokenizers count a text for more than its lines, or one fence for more than another: the least relevant
        # line goes.
        if chosen:
            chosen.remove(max(chosen, key=lambda line: line.rank))
        else:
            first.pop()


def _known(known: Sequence[Said], room: int, tokenizer: Tokenizer) -> tuple[list[_Line], int]:
    """Choose the statements that the head has room for, and tell what they cost."""
    lines: list[_Line] = []
    cost = tokenizer.count(f"{_KNOWN}\n\n")
    for rank, (event, seq, span) in enumerate(known):
        line = _Line(event, seq, span, rank)
        more = tokenizer.count(f"[{len(known)}] {line.dated_words}\n")
        if cost + more <= room * _LARGE:
            lines.append(line)
            cost += more
    return (lines, cost) if lines else ([], 0)


def _choose(
    hits: Sequence[Hit], room: int, tokenizer: Tokenizer, leads: Mapping[str, Known], told: Collection[str]
) -> list[_Line]:
    packed = _Packed(tokenizer, room, f"[{2 * len(hits) + len(told)}]")
    repeats = Repeats()
    later: list[tuple[int, Hit]] = []
    for rank, hit in enumerate(hits):
        if hit.event.id in told:
            continue
        repeated = repeats.is_repeat(source_of(hit.event), hit.event.text)
        if not _take(packed, hit, rank, room, leads, told, repeated=repeated) and is_vouched(source_of(hit.event)):
            later.append((rank, hit))
    # What people repeat only yields to other lines. What a tool or a page repeats does not come back.
    for rank, hit in later:
        _take(packed, hit, rank, room, leads, told, repeated=False)
    return list(packed.lines.values())


def _take(
    packed: _Packed,
    hit: Hit,
    rank: int,
    room: int,
    leads: Mapping[str, Known],
    told: Collection[str],
    *,
    repeated: bool,
) -> bool:
    """Take a hit's line where it fits, with its lead; False where its source has repeated itself enough."""
    known = packed.lines.get(hit.event.id)
    if known is not None and known.span == Span(0, len(hit.event.text)):
        return True
    line = _fitting(packed, hit, rank, most=int(room * _LARGE))
    if line is None:
        return True
    source = source_of(hit.event)
    if repeated:
        spent = packed.repeated.get(source, 0) + packed.cost(line)
        if spent > trust_of(source).repeats * room:
            return False
        packed.repeated[source] = spent
    packed.take(line)
    lead = leads.get(hit.event.id)
    if lead is not None and lead.event.id not in packed.lines and lead.event.id not in told:
        before = _Line(lead.event, lead.seq, Span(0, len(lead.event.text)), rank)
        if packed.cost(before) <= min(packed.left, room * _LARGE):
            packed.take(before)
    return True


def _fitting(packed: _Packed, hit: Hit, rank: int, *, most: int) -> _Line | None:
    """Take an event whole if it is cheap enough, else its matching sentences, else whole if it fits at all."""
    whole = Span(0, len(hit.event.text))
    line = _Line(hit.event, hit.seq, whole, rank)
    # No tokenizer makes a token of more characters than this: a book is not counted only to be refused.
    small = whole.end <= _LONGEST_TOKEN * packed.left
    if small and packed.cost(line) <= min(packed.left, most):
        return line
    quoted = line if hit.span == whole else _Line(hit.event, hit.seq, hit.span, rank)
    if quoted is line and not small:
        return None
    return quoted if packed.cost(quoted) <= packed.left else None


def _laid_out(lines: Iterable[_Line], first: Sequence[_Line] = ()) -> tuple[str, list[Citation]]:
    sessions: dict[str | None, list[_Line]] = {}
    for line in lines:
        sessions.setdefault(line.event.session, []).append(line)
    for session in sessions.values():
        session.sort(key=lambda line: line.when)
    blocks: list[str] = [_KNOWN] if first else []
    citations: list[Citation] = []
    for line in first:
        citations.append(_citation(line, len(citations) + 1))
        blocks.append(f"{citations[-1].mark} {line.dated_words}")
    for session in sorted(sessions.values(), key=lambda session: session[0].when):
        day = ""
        for line in session:
            if line.heading[1] != day:
                day = line.heading[1]
                blocks.append(f"\n{day}" if blocks else day)
            citations.append(_citation(line, len(citations) + 1))
            blocks.append(f"{citations[-1].mark} {line.words}")
    return "\n".join(blocks), citations


def _citation(line: _Line, number: int) -> Citation:
    return Citation(mark=f"[{number}]", event_id=line.event.id, span=line.span, key=line.event.key)
