"""Contexts: pack hits into lines with citation marks, within a token budget.

A context may begin with an instruction for the reader and with statements that hold now. Each hit's line is quoted with
its speaker; a line that means little alone ("Yes, last May!") gets the turn before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from everyword.lazy_patterns import lazy_pattern
from everyword.models.protocol import Tokenizer
from everyword.retrieval.dates_in_text import date_notes
from everyword.retrieval.dedup import NearDuplicates
from everyword.retrieval.query_analysis import Analysis, Kind
from everyword.storage.protocol import Known, Reader, Seqs, StatementFilter
from everyword.text.rendering import fence_tokens, fenced, one_line, speaker_line
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import Citation, Context, Event, Filter, Hit, Span
from everyword.types.ids import raw_event_id
from everyword.types.records import RecordKind, events_of, shown_as_edit
from everyword.types.statements import Statement, Status
from everyword.types.times import day_in_words
from everyword.types.trust import is_vouched, label_of, source_of, trust_of

_ELLIPSIS = "…"
_HEADING = "Known now"
_LONGEST_TOKEN = 32  # characters, on average over a line
# An event that would cost more than this share of the budget is cut to its matching sentences: several lines from
# several sessions answer more than one long message.
_LARGE = 0.25


class Excerpt(NamedTuple):
    """A span of an event."""

    event: Event
    seq: int
    span: Span


@dataclass(frozen=True)
class _Line:
    event: Event
    seq: int
    span: Span
    rank: int  # lines with a high rank are dropped first
    until: datetime | None = None  # since when something else holds instead

    @cached_property
    def words(self) -> str:
        """Render the line without its mark."""
        words, notes = self._parts()
        return words + (f" ({'; '.join(notes)})" if notes else "")

    @cached_property
    def dated_words(self) -> str:
        """Render it with its day, for the head of the context."""
        words, notes = self._parts()
        return f"{words} ({'; '.join((day_in_words(self.event.at), *notes))})"

    def _parts(self) -> tuple[str, list[str]]:
        event, span = self.event, self.span
        before = _ELLIPSIS if event.text[: span.start].strip() else ""
        after = _ELLIPSIS if event.text[span.end :].strip() else ""
        quote = event.text[span.start : span.end]
        notes = [one_line(note) for note in date_notes(quote, event.at)]
        if self.until is not None:
            notes.append(f"no longer so since {day_in_words(self.until)}")
        label = label_of(event)
        return speaker_line(f"{before}{quote}{after}", speaker=event.speaker, labels=[label] if label else []), notes

    @property
    def when(self) -> tuple[datetime, int]:
        """Return the sort key: time, then order of arrival."""
        return self.event.at, self.seq

    @cached_property
    def heading(self) -> tuple[str | None, str]:
        """Return the session and the day under which it is listed."""
        return self.event.session, day_in_words(self.event.at)


@dataclass(slots=True)
class _Packed:
    """The lines chosen so far, and the tokens left."""

    tokenizer: Tokenizer
    left: int
    mark: str  # the widest that a line can get
    lines: dict[str, _Line] = field(default_factory=dict[str, _Line])
    repeated: dict[str, int] = field(default_factory=dict[str, int])  # tokens spent on near-duplicates, by source
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
    preceding: Mapping[str, Known] | None = None,
    instruction: str = "",
    statements: Sequence[Excerpt] = (),
    fence_key: bytes | None = None,
) -> Context:
    """Choose the lines that fit the budget and lay them out.

    preceding: the turn before a hit that needs it, by the hit's event id. statements: excerpts for the head of the
    text; their events are not repeated below. fence_key: the key that the fence is derived from; None for a random one.
    """
    head = f"{instruction}\n\n" if instruction and tokenizer.count(f"{instruction}\n\n") < budget else ""
    room = budget - (tokenizer.count(head) if head else 0) - fence_tokens(tokenizer.count)
    first, cost = _head(statements, room, tokenizer)
    shown = {line.event.id for line in first}
    chosen = _choose(hits, room - cost, tokenizer, preceding or {}, shown)
    while True:
        text, citations = _laid_out(chosen, first)
        text = head + fenced(text, fence_key) if text else ""
        tokens = tokenizer.count(text) if text else 0
        if tokens <= budget:
            return Context(
                text=text, tokens=tokens, budget=budget, tokenizer=tokenizer.name, citations=tuple(citations)
            )
        # A text may have more tokens than its lines, and one fence more than another: drop the least relevant line.
        if chosen:
            chosen.remove(max(chosen, key=lambda line: line.rank))
        else:
            first.pop()


def _head(statements: Sequence[Excerpt], room: int, tokenizer: Tokenizer) -> tuple[list[_Line], int]:
    """Choose the statements that the head has room for, and count their tokens."""
    lines: list[_Line] = []
    cost = tokenizer.count(f"{_HEADING}\n\n")
    for rank, (event, seq, span) in enumerate(statements):
        line = _Line(event, seq, span, rank)
        more = tokenizer.count(f"[{len(statements)}] {line.dated_words}\n")
        if cost + more <= room * _LARGE:
            lines.append(line)
            cost += more
    return (lines, cost) if lines else ([], 0)


def _choose(
    hits: Sequence[Hit], room: int, tokenizer: Tokenizer, preceding: Mapping[str, Known], shown: Collection[str]
) -> list[_Line]:
    packed = _Packed(tokenizer, room, f"[{2 * len(hits) + len(shown)}]")
    duplicates = NearDuplicates()
    later: list[tuple[int, Hit]] = []
    for rank, hit in enumerate(hits):
        if hit.event.id in shown:
            continue
        repeated = duplicates.seen_before(source_of(hit.event), hit.event.text)
        if not _take(packed, hit, rank, room, preceding, shown, repeated=repeated) and is_vouched(source_of(hit.event)):
            later.append((rank, hit))
    # Repetitions by people come after the other lines; repetitions by a tool or page are dropped.
    for rank, hit in later:
        _take(packed, hit, rank, room, preceding, shown, repeated=False)
    return list(packed.lines.values())


def _take(
    packed: _Packed,
    hit: Hit,
    rank: int,
    room: int,
    preceding: Mapping[str, Known],
    shown: Collection[str],
    *,
    repeated: bool,
) -> bool:
    """Take a hit's line and its preceding turn if they fit; return False if its source repeats itself too much."""
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
    turn = preceding.get(hit.event.id)
    if turn is not None and turn.event.id not in packed.lines and turn.event.id not in shown:
        before = _Line(turn.event, turn.seq, Span(0, len(turn.event.text)), rank)
        if packed.cost(before) <= min(packed.left, room * _LARGE):
            packed.take(before)
    return True


def _fitting(packed: _Packed, hit: Hit, rank: int, *, most: int) -> _Line | None:
    """Return the whole event if it is cheap enough, or else its matching sentences if they fit."""
    whole = Span(0, len(hit.event.text))
    line = _Line(hit.event, hit.seq, whole, rank, hit.replaced_at)
    # Do not count the tokens of a book that can't fit.
    small = whole.end <= _LONGEST_TOKEN * packed.left
    if small and packed.cost(line) <= min(packed.left, most):
        return line
    quoted = line if hit.span == whole else _Line(hit.event, hit.seq, hit.span, rank, hit.replaced_at)
    if quoted is line and not small:
        return None
    return quoted if packed.cost(quoted) <= packed.left else None


def _laid_out(lines: Iterable[_Line], first: Sequence[_Line] = ()) -> tuple[str, list[Citation]]:
    sessions: dict[str | None, list[_Line]] = {}
    for line in lines:
        sessions.setdefault(line.event.session, []).append(line)
    for session in sessions.values():
        session.sort(key=lambda line: line.when)
    blocks: list[str] = [_HEADING] if first else []
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


LEADS = ("events", "statements")  # what a context can begin with

_MOST = 6  # statements at the head
_SUBJECTS = 4  # subjects whose statements are read: those named, then the speakers of the first hits
_EACH = 100  # newest statements about each subject
_PAST = 2_000  # statements read for a past state, from its beginning
_WHOLE = 0.6  # share of an event's text that a statement must quote to replace the event
_LEAST = 2  # question words that a statement must contain, or all but one of them


def current_statements(
    reader: Reader,
    question: str,
    asked: Analysis,
    hits: Sequence[Hit],
    *,
    allowed: Seqs | None,
    as_of: datetime | None = None,
) -> list[Excerpt]:
    """Choose the current statements with the most words of the question, as excerpts of their events."""
    terms = set(question_terms(question))
    least = max(1, min(_LEAST, len(terms) - 1))
    current = _current(reader, _subjects(asked, hits), as_of)
    worth = {one.id: len(terms & term_counts(one.content).keys()) for one in current}
    fitting = [one for one in current if worth[one.id] >= least and not one.negated]
    fitting.sort(key=lambda one: (-worth[one.id], -one.recorded_at.timestamp()))
    return _excerpts(reader, fitting[: 2 * _MOST], allowed)[:_MOST]


def corrections(reader: Reader, hits: Sequence[Hit], which: Filter) -> list[Excerpt]:
    """Read the corrections that replace statements of the hits, the best hit's first."""
    found: list[Excerpt] = []
    edits = reader.records((RecordKind.CORRECTION.value,))
    for hit in hits if edits else ():
        about = {hit.event.id}
        for seq, event in edits:
            if not about & set(events_of(event)):
                continue
            about.add(event.id)  # a correction may be corrected in turn
            known = which.as_of is None or event.recorded_at <= which.as_of
            made = which.until is None or event.at < which.until
            if known and made and which.wing in (None, event.wing) and _is_current(reader, seq):
                found.append(Excerpt(shown_as_edit(event), seq, Span(0, len(event.text))))
    return found[:_MOST]


def _is_current(reader: Reader, seq: int) -> bool:
    return any(one.status is Status.CURRENT for one in reader.statements_of([seq]).get(seq, ()))


def _subjects(asked: Analysis, hits: Sequence[Hit]) -> list[str]:
    spoke = [hit.event.speaker for hit in hits[:_SUBJECTS] if hit.event.speaker]
    return list(dict.fromkeys((*asked.names, *spoke)))[:_SUBJECTS]


def _current(reader: Reader, subjects: Iterable[str], as_of: datetime | None) -> list[Statement]:
    if as_of is None:
        return [one for about in subjects for one in reader.standing(about, limit=_EACH)]
    then = (StatementFilter(about=about, status=Status.CURRENT, as_of=as_of) for about in subjects)
    return [one for which in then for _, one in reader.statements(which, limit=_PAST)[-_EACH:]]


def _excerpts(reader: Reader, statements: Sequence[Statement], allowed: Seqs | None) -> list[Excerpt]:
    raw = [raw_id for one in statements if (raw_id := raw_event_id(one.event_id)) is not None]
    found = {known.event.id: known for known in reader.find(raw).values()}
    permitted = None if allowed is None else set(allowed.tolist())
    excerpts: dict[str, Excerpt] = {}
    for one in statements:
        known = found.get(one.event_id)
        if known is None or (permitted is not None and known.seq not in permitted):
            continue
        if len(one.quote) >= _WHOLE * len(known.event.text.strip()):
            span = _to_the_end(known.event.text, one.span)
            excerpts.setdefault(one.event_id, Excerpt(shown_as_edit(known.event), known.seq, span))
    return list(excerpts.values())


def _to_the_end(text: str, span: Span) -> Span:
    """Extend a span over what follows it, where that is only punctuation."""
    rest = text[span.end :].rstrip()
    return span if any(map(str.isalnum, rest)) else Span(span.start, span.end + len(rest))


# A line that begins with an answer or a pronoun. A line shorter than `_SHORT` needs its preceding turn too.
_REFERS_BACK = lazy_pattern(
    r"\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|exactly|absolutely|definitely|true|same|both|neither|maybe|probably|"
    r"of course|me too|it|it's|that|that's|this|these|those|they|they're|he|he's|she|she's|there|then|so|because)\b",
    re.IGNORECASE,
)
_SHORT = 6  # words


def preceding_turns(reader: Reader, hits: Sequence[Hit], allowed: Seqs | None) -> dict[str, Known]:
    """Read the turn before each hit that means little without it, by the hit's event id."""
    dependent = [hit for hit in hits if _needs_context(hit.event.text)]
    permitted = None if allowed is None else set(allowed.tolist())
    before: dict[str, int] = {}
    runs = {seq: run for run in reader.around([hit.seq for hit in dependent], 1) for seq in run}
    for hit in dependent:
        run = runs.get(hit.seq, [hit.seq])
        place = run.index(hit.seq)
        if place and (permitted is None or run[place - 1] in permitted):
            before[hit.event.id] = run[place - 1]
    events = reader.fetch(list(before.values()))
    return {id: Known(seq, events[seq]) for id, seq in before.items() if seq in events}


def _needs_context(text: str) -> bool:
    return _REFERS_BACK.match(text) is not None or len(text.split(None, _SHORT)) < _SHORT


_GROUNDS = "Answer from the numbered lines below alone, and name the numbers you used."
_ABSENT = "If they hold no answer, say that you don't know."

_BY_KIND: Mapping[Kind, str] = {
    Kind.LOOKUP: "If lines disagree, the later one counts.",
    Kind.TEMPORAL: "The date above a line is when it was said; dates in brackets were worked out from it. Work out the "
    "answer from these dates, and give it as a date or a length of time.",
    Kind.CAUSAL: "Find the cause and the effect, check that the cause comes first, and name the steps between them.",
    Kind.LISTING: "Go through all lines before you answer, and list each thing once.",
    Kind.COUNTING: "Go through all lines, list what counts, each thing once, and only then count.",
    Kind.COMPARING: "Find what is said of each one first, then compare.",
    Kind.PREFERENCE: "Go by what the person said they like, dislike or already do; the later statement counts.",
    Kind.ASSISTANT: "The question is about what the assistant said, not the user.",
}
_HYPOTHETICAL = "The answer is a conclusion: draw it from what the lines say of the person, and say how sure it is."


STYLES = ("plain", "reasoning")


def instruction(asked: Analysis) -> str:
    """Return the instruction that fits the kind of question."""
    fitting = _HYPOTHETICAL if asked.hypothetical else _BY_KIND[asked.kind]
    return f"{_GROUNDS} {fitting} {_ABSENT}"
