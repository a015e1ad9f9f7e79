"""Contexts: pack hits into lines with citation marks, within a token budget.

A context begins with how sure it is that an answer is there, and with the statements that hold now and bear on the
question. Each hit's line is quoted with its speaker; a line that means little alone ("Yes, last May!") gets the turn
before it, and one that holds no more names the line that replaced it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.models.protocol import Tokenizer
from everyword.retrieval.answer import ASKS_DONE, ENOUGH, content_terms, is_grounded
from everyword.retrieval.hits import NearDuplicates
from everyword.retrieval.instructions import Excerpt, sentences_around
from everyword.retrieval.query_analysis import Analysis, Kind, Shape
from everyword.retrieval.superseded import statement_terms
from everyword.storage.protocol import Reader
from everyword.storage.rows import Known
from everyword.text.dates import Granularity, date_notes
from everyword.text.rendering import fence_tokens, fenced, name, one_line, speaker_line
from everyword.text.spans import asks, refers_back
from everyword.text.terms import term_counts
from everyword.types.events import Citation, Context, Event, Filter, Hit, Hits, Span, elsewhere
from everyword.types.records import RecordKind, events_of, shown_as_edit
from everyword.types.statements import TO_DO, Statement, StatementKind, Status
from everyword.types.times import day_in_words
from everyword.types.trust import is_vouched, source_of, trust_of

_ELLIPSIS = "…"
_HEAD = 0.15  # share of the budget that each head may take: the lines below it answer most questions
_LIKELY, _UNSURE = "Confidence: likely.", "Confidence: unsure."
NOT_HERE = "Not in this memory."
# Below this confidence, and without a word of the question in the first hits, nothing is shown. On development
# conversations that hides none of 155 answers; below .3 it would hide one.
_ABSENT_BELOW = 0.2
_LONGEST_TOKEN = 32  # characters, on average over a line
# An event that would cost more than this share of the budget is cut to its matching sentences: several lines from
# several sessions answer more than one long message.
_LARGE = 0.25
_WIDEST = "[99]"  # the mark that a line of a head is counted with


class Heading(StrEnum):
    """What stands before the lines, in this order."""

    RULES = "Standing instructions"
    SESSIONS = "What the sessions were about"
    FACTS = "Facts"
    HOLDS = "What holds now"


class _Line(Struct, frozen=True, dict=True):  # its cached properties need a dict
    event: Event
    seq: int
    span: Span
    rank: int  # lines with a high rank are dropped first
    until: datetime | None = None  # since when something else holds instead
    replaced_by: str | None = None  # the event that says what
    elsewhere: str | None = None  # the wing, if it is not that of the project at hand

    def rendered(self, mark: str, see: str = "", *, dated: bool = False) -> str:
        """Render the line with its mark, its day if it stands under none, and the mark of what replaced it."""
        words, notes = self._parts
        day = [day_in_words(self.event.at)] if dated else []
        where = [] if self.elsewhere is None else [f"in {name(self.elsewhere)}"]
        notes = [
            *day,
            *where,
            *notes,
            *([] if self.until is None else [self._over(self.until) + (see and f", see {see}")]),
        ]
        return f"{mark} {words}" + (f" ({'; '.join(notes)})" if notes else "")

    def _over(self, until: datetime) -> str:
        if until <= self.event.at:
            return "retracted" if self.replaced_by is None else "corrected"
        return f"no longer so since {day_in_words(until)}"

    @cached_property
    def _parts(self) -> tuple[str, list[str]]:
        event, span = self.event, self.span
        before = _ELLIPSIS if event.text[: span.start].strip() else ""
        after = _ELLIPSIS if event.text[span.end :].strip() else ""
        quote = event.text[span.start : span.end]
        notes = [one_line(note) for note in date_notes(quote, event.at)]
        return speaker_line(event, f"{before}{quote}{after}"), notes

    @property
    def when(self) -> tuple[datetime, int]:
        """Return the sort key: time, then order of arrival."""
        return self.event.at, self.seq

    @cached_property
    def heading(self) -> tuple[str | None, str]:
        """Return the session and the day under which it is listed."""
        return self.event.session, day_in_words(self.event.at)


class _Packed(Struct):
    """The lines chosen so far, and the tokens left."""

    tokenizer: Tokenizer
    left: int
    mark: str  # the widest that a line can get
    project: str | None  # at hand
    lines: dict[str, _Line] = field(default_factory=dict[str, _Line])
    repeated: dict[str, int] = field(default_factory=dict[str, int])  # tokens spent on near-duplicates, by source
    headings: set[tuple[str | None, str]] = field(default_factory=set[tuple[str | None, str]])

    def cost(self, line: _Line) -> int:
        heading = 0 if line.heading in self.headings else self.tokenizer.count(f"{line.heading[1]}\n\n")
        return heading + self.tokenizer.count(line.rendered(self.mark, self.mark) + "\n")

    def take(self, line: _Line) -> None:
        self.left -= self.cost(line)
        self.lines[line.event.id] = line
        self.headings.add(line.heading)


def is_absent(question: str, asked: Analysis, hits: Hits) -> bool:
    """Tell whether nothing in the memory fits the question."""
    unsure = hits.confidence is not None and hits.confidence < _ABSENT_BELOW
    return unsure and not is_grounded(question, asked, hits, ())


def absent(budget: int, tokenizer: Tokenizer) -> Context:
    """Write the context of a question that nothing fits."""
    text = NOT_HERE if tokenizer.count(NOT_HERE) <= budget else ""
    return Context(text=text, tokens=tokenizer.count(text) if text else 0, budget=budget, tokenizer=tokenizer.name)


def pack(
    hits: Sequence[Hit],
    budget: int,
    tokenizer: Tokenizer,
    *,
    preceding: Mapping[str, Known] | None = None,
    instruction: str = "",
    heads: Mapping[Heading, Sequence[Excerpt]] = MappingProxyType({}),
    confidence: float | None = None,
    fence_key: bytes | None = None,
    project: str | None = None,
) -> Context:
    """Choose the lines that fit the budget and lay them out.

    preceding: the turn before a hit that needs it, by the hit's event id. heads: excerpts that come first, by heading;
    what these show is not repeated below. confidence: that the hits answer the question. fence_key: the key that the
    fence is derived from; None for a random one. project: the one at hand; lines of others name theirs.
    """
    opening = _opening(instruction, confidence, budget, tokenizer)
    room = budget - (tokenizer.count(opening) if opening else 0) - fence_tokens(tokenizer.count)
    first: dict[str, list[_Line]] = {}
    for heading, excerpts in heads.items():
        first[heading] = _head(
            heading, [one for one in excerpts if not _is_shown(one, first)], room, tokenizer, project
        )
    shown = {line.event.id for lines in first.values() for line in lines if line.span == Span(0, len(line.event.text))}
    chosen = _choose(hits, room - _cost(first, tokenizer), tokenizer, preceding or {}, shown, project)
    while True:
        text, citations = _laid_out(chosen, first)
        text = opening + fenced(text, fence_key, tokenizer.count) if text else ""
        tokens = tokenizer.count(text) if text else 0
        if tokens <= budget:
            return Context(
                text=text, tokens=tokens, budget=budget, tokenizer=tokenizer.name, citations=tuple(citations)
            )
        # A text may have more tokens than its lines: drop the least relevant line.
        if chosen:
            chosen.remove(max(chosen, key=lambda line: line.rank))
        else:
            next(lines for lines in reversed(first.values()) if lines).pop()


# A time shorter than a week is asked for to find one thing; a longer one, mostly to hear what happened.
_PERIODS = frozenset((Granularity.WEEK, Granularity.MONTH, Granularity.SEASON, Granularity.QUARTER, Granularity.YEAR))


def periods(asked: Analysis, which: Filter) -> list[Filter]:
    """List the longer times that a question names, as filters within the one given."""
    found: list[Filter] = []
    for window in asked.windows if asked.shape is Shape.THING else ():
        since = window.start if which.since is None else max(window.start, which.since)
        until = window.end if which.until is None else min(window.end, which.until)
        if window.granularity in _PERIODS and since < until:
            found.append(replace(which, since=since, until=until))
    return found


def interleaved(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    """Take one hit of each list in turn; what comes twice counts once."""
    found: dict[int, Hit] = {}
    for hit in (one for pair in zip_longest(hits, others) for one in pair if one is not None):
        found.setdefault(hit.seq, hit)
    return list(found.values())


def _opening(instruction: str, confidence: float | None, budget: int, tokenizer: Tokenizer) -> str:
    """Write what stands before the lines, as far as it fits: an instruction, and the confidence in words."""
    sure = "" if confidence is None else _LIKELY if confidence >= ENOUGH else _UNSURE
    opening = ""
    for part, share in ((instruction, 1.0), (sure, _HEAD)):
        if part and tokenizer.count(f"{part}\n\n") < budget * share:
            opening += f"{part}\n\n"
    return opening


def _head(
    heading: str, excerpts: Sequence[Excerpt], room: int, tokenizer: Tokenizer, project: str | None
) -> list[_Line]:
    """Choose the lines that a head has room for."""
    lines: list[_Line] = []
    cost = tokenizer.count(f"{heading}\n\n")
    for rank, (event, seq, span, replaced_at, replaced_by) in enumerate(excerpts):
        line = _Line(event, seq, span, rank, replaced_at, replaced_by, elsewhere=elsewhere(event, project))
        more = tokenizer.count(line.rendered(_WIDEST, dated=True) + "\n")
        if cost + more <= room * (_HEAD if lines else _LARGE):
            lines.append(line)
            cost += more
    return lines


def _is_shown(one: Excerpt, heads: Mapping[str, Sequence[_Line]]) -> bool:
    spans = [line.span for lines in heads.values() for line in lines if line.event.id == one.event.id]
    return any(span.start <= one.span.start and one.span.end <= span.end for span in spans)


def _cost(heads: Mapping[str, Sequence[_Line]], tokenizer: Tokenizer) -> int:
    rendered = [line.rendered(_WIDEST, dated=True) for lines in heads.values() for line in lines]
    headings = [f"{heading}\n\n" for heading, lines in heads.items() if lines]
    return sum(tokenizer.count(f"{line}\n") for line in (*headings, *rendered))


def _choose(
    hits: Sequence[Hit],
    room: int,
    tokenizer: Tokenizer,
    preceding: Mapping[str, Known],
    shown: Collection[str],
    project: str | None,
) -> list[_Line]:
    packed = _Packed(tokenizer, room, f"[{2 * len(hits) + len(shown)}]", project)
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
        whole = Span(0, len(turn.event.text))
        before = _Line(turn.event, turn.seq, whole, rank, elsewhere=elsewhere(turn.event, packed.project))
        if packed.cost(before) <= min(packed.left, room * _LARGE):
            packed.take(before)
    return True


def _fitting(packed: _Packed, hit: Hit, rank: int, *, most: int) -> _Line | None:
    """Return the whole event if it is cheap enough, or else its matching sentences if they fit."""
    whole = Span(0, len(hit.event.text))
    outside = elsewhere(hit.event, packed.project)
    line = _Line(hit.event, hit.seq, whole, rank, hit.replaced_at, hit.replaced_by, outside)
    # Do not count the tokens of a book that can't fit.
    small = whole.end <= _LONGEST_TOKEN * packed.left
    if small and packed.cost(line) <= min(packed.left, most):
        return line
    quoted = line if hit.span == whole else replace(line, span=hit.span)
    if quoted is line and not small:
        return None
    return quoted if packed.cost(quoted) <= packed.left else None


def _laid_out(lines: Iterable[_Line], heads: Mapping[str, Sequence[_Line]]) -> tuple[str, list[Citation]]:
    sessions: dict[str | None, list[_Line]] = {}
    for line in lines:
        sessions.setdefault(line.event.session, []).append(line)
    for session in sessions.values():
        session.sort(key=lambda line: line.when)
    below = [line for session in sorted(sessions.values(), key=lambda session: session[0].when) for line in session]
    above = [(heading, line) for heading, some in heads.items() for line in some]
    citations = [
        Citation(mark=f"[{number}]", event_id=line.event.id, span=line.span, key=line.event.key)
        for number, line in enumerate((*(line for _, line in above), *below), 1)
    ]
    marks = {one.event_id: one.mark for one in reversed(citations)}
    blocks: list[str] = []
    last: object = None
    for number, (heading, line) in enumerate((*above, *((line.heading, line) for line in below))):
        if heading != last:
            blocks.append(("\n" if blocks else "") + (heading if isinstance(heading, str) else heading[1]))
            last = heading
        see = marks.get(line.replaced_by or "", "")
        blocks.append(line.rendered(citations[number].mark, see, dated=number < len(above)))
    return "\n".join(blocks), citations


_READ = 8  # first hits whose statements are read
_MOST = 4  # lines at the head
_SURE = 0.7  # the reader's confidence in a statement: at the head, 9 of 10 lines must be right
_SHARE = 0.66  # of the question's content words that a statement must contain: two of three
_RIVAL = 0.5  # of them that a later hit must contain to be compared with the statement
_REPLACES, _MAY_REPLACE = 0.5, 0.1  # probabilities that a later hit takes the place of a statement
SURE = 0.9  # chance that an answer is right, from which it is at the head by itself: .96 of 90 labelled ones were
# What happened once, and lessons, do not hold or cease to hold.
_LASTING = frozenset(StatementKind) - {StatementKind.EVENT, StatementKind.INSIGHT}
Replaces = Callable[[Hit, Hit], float]  # how likely the later of two hits takes the place of the earlier one


def asks_of_now(question: str, asked: Analysis) -> bool:
    """Tell whether a question asks how things are: neither how they were nor what was done."""
    return not asked.past and ASKS_DONE.search(question) is None


def what_holds(
    reader: Reader, question: str, asked: Analysis, hits: Sequence[Hit], *, now: datetime, replaces: Replaces | None
) -> list[Excerpt]:
    """Choose what holds now and bears on the question: statements of the first hits that contain most of its words.

    A later hit with words of the question may take the place of such a statement; then that hit is chosen instead, and
    where it is unclear, neither. A question about the past gets nothing.
    """
    first = [hit for hit in hits[:_READ] if is_vouched(source_of(hit.event))]
    content = content_terms(question, first) - term_counts(*asked.names).keys()
    if not content or not asks_of_now(question, asked):
        return []
    stated = reader.statements_of([hit.seq for hit in first])
    found: dict[int, Excerpt] = {}
    for hit in first:
        fitting = [one for one in stated.get(hit.seq, ()) if _fits(one, content, asked, now)]
        matching = hit is first[0] and len(content) > 1 and _shared(content, hit) >= _SHARE
        newest = _newest(hit, first, content, replaces) if fitting or matching else None
        if newest is hit and fitting and all(one.status is Status.CURRENT for one in fitting):
            found.setdefault(hit.seq, _excerpt(hit, fitting[0].span))
        elif newest is not None and newest is not hit:
            found.setdefault(newest.seq, _excerpt(newest, newest.span))
    return list(found.values())[:_MOST]


def answer_first(holding: Sequence[Excerpt], answer: Hit | None) -> list[Excerpt]:
    """Put what `ask` would answer first, and leave out what is older: it may be stale.

    Where an older line would be the answer, it is unclear which one holds, and none is shown.
    """
    if answer is None:
        return list(holding)
    first = next((one for one in holding if one.seq == answer.seq), None)
    later = [one for one in holding if one.event.at > answer.event.at]
    if first is None:
        clear = not later and is_vouched(source_of(answer.event))
        return [_excerpt(answer, answer.span)] if clear else []
    return [first, *later]


def _newest(old: Hit, hits: Sequence[Hit], content: AbstractSet[int], replaces: Replaces | None) -> Hit | None:
    """Find the hit that took the place of another, which may be itself; None where that is unclear."""
    if old.replaced_by is not None:
        return next((hit for hit in hits if hit.event.id == old.replaced_by), None)
    newest: Hit | None = old
    for hit in sorted(hits, key=lambda hit: (hit.event.at, hit.seq)):
        shared = _shared(content, hit)
        if hit.event.at <= old.event.at or shared < _RIVAL or asks(hit.event.text):
            continue
        chance = _MAY_REPLACE if replaces is None else replaces(old, hit)
        if chance >= _REPLACES and shared >= _SHARE:
            newest = hit
        elif chance >= _MAY_REPLACE and newest is old:
            newest = None
    return newest


def _shared(content: AbstractSet[int], hit: Hit) -> float:
    return len(content & term_counts(hit.event.text).keys()) / len(content)


def _excerpt(hit: Hit, span: Span) -> Excerpt:
    return Excerpt(shown_as_edit(hit.event), hit.seq, sentences_around(hit.event.text, span))


def _fits(one: Statement, content: AbstractSet[int], asked: Analysis, now: datetime) -> bool:
    """Tell whether a statement is sure, lasts, and is about what the question names."""
    if one.kind not in _LASTING or one.confidence < _SURE:
        return False
    if one.kind in TO_DO and one.date is not None and one.date.due <= now:
        return False
    if asked.names and not term_counts(*asked.names).keys() & term_counts(one.content, one.about or "").keys():
        return False
    return len(content & statement_terms(one).keys()) >= _SHARE * len(content)


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


# A line shorter than this needs its preceding turn, too.
_SHORT = 6  # words


def preceding_turns(reader: Reader, hits: Sequence[Hit], which: Filter) -> dict[str, Known]:
    """Read the turn before each hit that means little without it, by the hit's event id."""
    dependent = [hit for hit in hits if _needs_context(hit.event.text)]
    before: dict[str, int] = {}
    runs = {seq: run for run in reader.around([hit.seq for hit in dependent], 1) for seq in run}
    for hit in dependent:
        run = runs.get(hit.seq, [hit.seq])
        if place := run.index(hit.seq):
            before[hit.event.id] = run[place - 1]
    allowed = reader.matching(which, among=list(before.values()))
    events = reader.fetch(list(before.values()) if allowed is None else allowed.tolist())
    return {id: Known(seq, events[seq]) for id, seq in before.items() if seq in events}


def _needs_context(text: str) -> bool:
    return refers_back(text) or len(text.split(None, _SHORT)) < _SHORT


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


LAYERED = "layered"
STYLES = ("plain", "reasoning", LAYERED)


def instruction(asked: Analysis) -> str:
    """Return the instruction that fits the kind of question."""
    fitting = _HYPOTHETICAL if asked.hypothetical else _BY_KIND[asked.kind]
    return f"{_GROUNDS} {fitting} {_ABSENT}"
