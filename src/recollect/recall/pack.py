"""Packing: hits -> prompt-ready lines within a token budget, counted exactly.

    8 May 2023
    [1] Ana: I went to the lake yesterday. (yesterday = 7 May 2023)

Words stand as they were said. The best hits are taken while they fit: whole where possible, else the matching
sentences; a line that means little by itself brings the turn before it. Lines of one session stand together, in the
order of time, under their day, so that a date is paid for once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from recollect.core.clock import day_in_words
from recollect.core.values import Citation, Context, Event, Hit, Span
from recollect.inference.protocol import Tokenizer
from recollect.recall.dated import dates_worked_out
from recollect.store.protocol import Known

_ELLIPSIS = "…"
# Whatever ends a line in any reader; what follows is indented, so that no words may look like the next citation.
_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_LONGEST_TOKEN = 32  # characters, on average over a line
# Of a long event only the matching sentences are taken when the whole would cost more than this share of the budget:
# several lines of several sessions answer more than one long message.
_LARGE = 0.25


@dataclass(frozen=True)
class _Line:
    event: Event
    seq: int
    span: Span
    rank: int  # the smaller, the later it is given up

    @cached_property
    def words(self) -> str:
        """Write the line without its mark."""
        event, span = self.event, self.span
        who = f"{' '.join(event.speaker.split())}: " if event.speaker else ""
        said = _LINE_END.sub(r"\g<0>    ", event.text[span.start : span.end])
        before = _ELLIPSIS if event.text[: span.start].strip() else ""
        after = _ELLIPSIS if event.text[span.end :].strip() else ""
        notes = dates_worked_out(event.text[span.start : span.end], event.at)
        return f"{who}{before}{said}{after}" + (f" ({'; '.join(notes)})" if notes else "")

    @property
    def when(self) -> tuple[datetime, int]:
        """Tell its place in time: turns of one moment stand in the order in which they came."""
        return self.event.at, self.seq

    @property
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
) -> Context:
    """Choose and lay out what fits; `leads` has by event id the turn that gives a line its meaning."""
    head = f"{instruction}\n\n" if instruction and tokenizer.count(f"{instruction}\n\n") < budget else ""
    room = budget - (tokenizer.count(head) if head else 0)
    chosen = _choose(hits, room, tokenizer, leads or {})
    while True:
        text, citations = _laid_out(chosen)
        text = head + text if text else ""
        tokens = tokenizer.count(text) if text else 0
        if tokens <= budget:
            return Context(
                text=text, tokens=tokens, budget=budget, tokenizer=tokenizer.name, citations=tuple(citations)
            )
        # Some tokenizers count a text for more than its lines: the least relevant line goes.
        chosen.remove(max(chosen, key=lambda line: line.rank))


def _choose(hits: Sequence[Hit], room: int, tokenizer: Tokenizer, leads: Mapping[str, Known]) -> list[_Line]:
    packed = _Packed(tokenizer, room, f"[{2 * len(hits)}]")
    for rank, hit in enumerate(hits):
        known = packed.lines.get(hit.event.id)
        if known is not None and known.span == Span(0, len(hit.event.text)):
            continue
        line = _fitting(packed, hit, rank, most=int(room * _LARGE))
        if line is None:
            continue
        packed.take(line)
        lead = leads.get(hit.event.id)
        if lead is not None and lead.event.id not in packed.lines:
            before = _Line(lead.event, lead.seq, Span(0, len(lead.event.text)), rank)
            if packed.cost(before) <= min(packed.left, room * _LARGE):
                packed.take(before)
    return list(packed.lines.values())


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


def _laid_out(lines: Iterable[_Line]) -> tuple[str, list[Citation]]:
    sessions: dict[str | None, list[_Line]] = {}
    for line in lines:
        sessions.setdefault(line.event.session, []).append(line)
    for session in sessions.values():
        session.sort(key=lambda line: line.when)
    blocks: list[str] = []
    citations: list[Citation] = []
    for session in sorted(sessions.values(), key=lambda session: session[0].when):
        day = ""
        for line in session:
            if line.heading[1] != day:
                day = line.heading[1]
                blocks.append(f"\n{day}" if blocks else day)
            mark = f"[{len(citations) + 1}]"
            blocks.append(f"{mark} {line.words}")
            citations.append(Citation(mark=mark, event_id=line.event.id, span=line.span, key=line.event.key))
    return "\n".join(blocks), citations
