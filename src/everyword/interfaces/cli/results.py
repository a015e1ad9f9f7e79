"""Show results as text: one function per type of result, or a row of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from everyword.interfaces.cli.terminal import Page, Piece, Styled, bold, cyan, dim, green, match, red, spaced, yellow
from everyword.text.rendering import speaker_of
from everyword.text.terms import count_of, shortened, whole_until
from everyword.types.concepts import Concept, ConceptEdge, ConceptView, Folded, JournalEntry
from everyword.types.events import (
    Answer,
    Context,
    Event,
    Hit,
    Hits,
    Imported,
    Receipt,
    Report,
    Score,
    Session,
    Span,
    Stats,
    Written,
)
from everyword.types.graph import Entity, Fact, FactDraft
from everyword.types.intents import LIVE, Identity, Intent, Palace, Tier, WakeUp, Window
from everyword.types.records import Record
from everyword.types.service import ApiKey, Waiting, Webhook
from everyword.types.statements import BY_HAND, History, Statement, StatementKind, Status
from everyword.types.times import Zone, day_in_words, shown_in, utc_now

_MOST_SHOWN = 700  # characters of one text on a terminal; `show` prints all
_BEFORE_MATCH = 200  # characters of these that may precede the match
_SNIPPET = 60  # characters of a text in a table
_MOST_TAGS = 6  # of `stats`, the most frequent; --json has all
_MOST_KEYS = 3  # of a session without a summary; --json has all
_SESSION_INDENT = 4  # columns before a session's speakers, and between them and what it was about
# Least probability, its word, and how it is shown.
_SURENESS = ((0.9, "almost certainly", green), (0.7, "probably", green), (0.4, "perhaps", yellow))
# The same for hits, whose confidence is less well known: it tells how well they match. In labelled conversations the
# answer is among them for 9 of 10 questions with .8 and more, and for 2 of 3 below.
_SURENESS_OF_HITS = ((0.8, "probably", green), (0.4, "perhaps", yellow))
_SURE_FACT = 0.7  # a fact below it is marked
_LONGEST_DRAWER = 100  # characters of an event in the palace
_MOST_QUOTES = 2  # of one fact; --json has all
_MOST_ALIASES = 6

_FIRST_SAID = "add"  # the action of a statement that changes nothing known
_INDEXES = ("events", "words", "windows")  # what `forget` counts beside what it derived
_JOURNAL_WORDS = {
    "add_node": "new",
    "update_node": "changed",
    "merge_nodes": "merged",
    "remove_node": "removed",
    "add_edge": "linked",
}

_ID = re.compile(r"[a-z]+_[0-9a-f]{12,}")

_zone: Zone = UTC  # set once for each command

Style = Callable[[str], Styled]


# Words


def show_times_in(zone: Zone) -> None:
    """Set the zone in which times are shown."""
    global _zone
    _zone = zone


def size(count: int) -> str:
    """Write a number of bytes with a unit."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:,.0f} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def _counts(counted: Iterable[tuple[str, int]]) -> str:
    """List numbers of things, given by their names in the plural."""
    return ", ".join(f"{count:,} {_one_of(things) if count == 1 else things}" for things, count in counted)


def _one_of(things: str) -> str:
    things, of, rest = things.partition(" of ")
    return (f"{things.removesuffix('ies')}y" if things.endswith("ies") else things.removesuffix("s")) + of + rest


def when(moment: datetime | None) -> str:
    """Write a time in the chosen zone, to the minute."""
    return "" if moment is None else shown_in(moment, _zone).isoformat(" ", "minutes")


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _validity(start: datetime | None, end: datetime | None) -> str:
    if start is not None and start == end:
        return _day(start)
    return " ".join([*([f"since {_day(start)}"] if start else []), *([f"until {_day(end)}"] if end else [])])


def _validity_of(fact: Fact) -> str:
    """Say when a fact holds; where nobody said when it began, when it was said."""
    start, end = fact.valid_from, fact.valid_to
    if start is None or start == end or any(one.valid_from == start for one in fact.sources):
        return _validity(start, end)
    return f"said {_day(start)}" + (f", until {_day(end)}" if end else "")


def _sureness(confidence: float, words: Sequence[tuple[float, str, Style]] = _SURENESS) -> tuple[str, Style]:
    """Put a probability into a word, and the style in which it is shown; --json has the number."""
    known = ((word, style) for least, word, style in words if confidence >= least)
    return next(known, ("probably not", yellow))


def _snippet(text: str) -> str:
    return shortened(" ".join(text[: 4 * _SNIPPET].split()), _SNIPPET)


def _quote(text: str, speaker: str | None) -> str:
    return f"“{text}”" + (f" ({speaker})" if speaker else "")


# Lists


def _nothing_found(page: Page) -> None:
    if page.for_people:
        page.line(dim("Nothing found."))


def table(titles: str, row: Callable[[Any], Sequence[Piece]], *, empty: str = "") -> Callable[[Page, Any], None]:
    """Make a view that shows a list as a table. titles: those of numbers begin with ">"."""

    def show(page: Page, listed: Sequence[Any]) -> None:
        if listed:
            page.table(titles.split(" "), [row(one) for one in listed])
        elif empty:
            page.line(empty)
        else:
            _nothing_found(page)

    return show


def _list(heading: Callable[[Any], Sequence[Piece]], text: Callable[[Any], str]) -> Callable[[Page, Any], None]:
    """Make a view that shows each entry of a list as a heading and a text."""

    def show(page: Page, listed: Sequence[Any]) -> None:
        if not listed:
            _nothing_found(page)
        for one in listed:
            _item(page, "", heading(one), [dim(text(one))])

    return show


def _single(view: Callable[[Page, Any], None]) -> Callable[[Page, Any], None]:
    return lambda page, result: view(page, [result])


def _item(page: Page, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
    """Write an entry of a list; for a person, an id that ends the heading goes below, so that the heading is short."""
    *rest, last = heading
    if page.for_people and isinstance(last, Styled) and _ID.fullmatch(last.text):
        page.item(mark, rest, [*body, dim(f"\n{last.text}")])
    else:
        page.item(mark, heading, body)


# Events


def _written(page: Page, outcome: Written | Sequence[Written]) -> None:
    for one in [outcome] if isinstance(outcome, Written) else outcome:
        page.line(green("stored") if one.new else yellow("already there"), "  ", dim(one.id))
        _redacted(page, one.redacted)


def imported(page: Page, done: Imported) -> None:
    """Show the counts of an import."""
    differing = f", already there with other text {done.differing:,}" if done.differing else ""
    page.line(
        f"read {count_of(done.read, 'event')} (format: {done.format}), ",
        green(f"stored {done.added:,}"),
        f", already there {done.known:,}{differing}",
    )
    if done.unchanged:
        page.line(dim(f"  {count_of(done.unchanged, 'file')} of {done.files:,} unchanged, not read again"))
    for reason, count in sorted(done.skipped.items(), key=lambda one: -one[1]):
        page.line(dim(f"  skipped {count:,}: {reason}"))
    if done.unread_times:
        page.line(yellow(f"  stored with the time of the file, since its own can't be read: {done.unread_times:,}"))
    for sample in done.not_understood:
        page.line(yellow(f"  not understood: {sample}"))
    _redacted(page, done.redacted)


def _redacted(page: Page, kinds: Mapping[str, int]) -> None:
    for kind, count in sorted(kinds.items(), key=lambda one: -one[1]):
        page.line(yellow(f"  redacted: {count_of(count, kind)}"))


def _event(page: Page, shown: Event) -> None:
    fields: list[tuple[str, Piece | None]] = [
        *((name, getattr(shown, name)) for name in ("id", "key", "space", "wing", "session")),
        ("speaker", shown.speaker and cyan(shown.speaker)),
        ("role", shown.role),
        ("source", shown.source),
        ("at", shown_in(shown.at, _zone).isoformat(" ")),
        ("recorded", shown_in(shown.recorded_at, _zone).isoformat(" ")),
        ("meta", json.dumps(shown.meta, ensure_ascii=False) if shown.meta else None),
    ]
    page.fields([(name, value) for name, value in fields if value is not None])
    page.gap()
    page.text(shown.text)


def _events(page: Page, listed: Iterable[Event]) -> None:
    """List events while they are read."""
    one = None
    for one in listed:
        _item(page, "", (*_when_who_where(one), dim(one.id)), _excerpt(page, one.text, Span(0, 0)))
    if one is None:
        _nothing_found(page)


def _when_who_where(one: Event) -> tuple[Piece, ...]:
    return (dim(when(one.at)), cyan(speaker_of(one) or ""), dim(one.session or ""))


def _excerpt(page: Page, text: str, span: Span) -> list[Piece]:
    """Mark the match; for a person, cut a long text to its surroundings."""
    start, end = 0, len(text)
    if page.for_people and end > _MOST_SHOWN:
        start = max(0, min(span.start - _BEFORE_MATCH, end - _MOST_SHOWN)) if span.end > _MOST_SHOWN else 0
        start, end = whole_until(text, start), whole_until(text, min(end, start + _MOST_SHOWN))
    match_start, match_end = min(max(span.start, start), end), min(max(span.end, start), end)
    marked = bold if span == (0, len(text)) else match  # a match that covers the whole text needs no highlight
    return [
        dim("…" if start else ""),
        text[start:match_start],
        marked(text[match_start:match_end]),
        text[match_end:end],
        dim("…" if end < len(text) else ""),
    ]


def _sessions(page: Page, listed: Sequence[Session]) -> None:
    """List sessions: for a person two lines each, else a table."""
    if not page.for_people:
        _session_table(page, listed)
        return
    if not listed:
        _nothing_found(page)
    for one in listed:
        first, last = _day(one.first_at), _day(one.last_at)
        days = green(first if first == last else f"{first} to {last}")
        heading = [bold(one.name), days, count_of(one.events, "event"), dim(", ".join(one.wings))]
        speakers, about = ", ".join(one.speakers), _about(one)
        if page.width:
            about = shortened(about, max(_SNIPPET, page.width - len(speakers) - _SESSION_INDENT))
        page.item("", heading, spaced([cyan(speakers), dim(about)]))


def _about(session: Session) -> str:
    """Say in one line what a session was about: the first of its summary, else the names in it."""
    summary = session.written or session.summary
    return " ".join(summary[0].text.split()) if summary else ", ".join(session.keys[:_MOST_KEYS])


_session_table = table(
    "session >events first last speakers wings about",
    lambda one: (
        *(bold(one.name), f"{one.events:,}", when(one.first_at), when(one.last_at), cyan(", ".join(one.speakers))),
        *(", ".join(one.wings), dim(_about(one))),
    ),
)


# Questions


def _hits(page: Page, found: Hits) -> None:
    """List hits, best first; if it is to be explained, with the scores of each stage."""
    found = found if page.explain else Hits((hit for hit in found if hit.score > 0), confidence=found.confidence)
    if not found:
        _nothing_found(page)
        return
    width = len(str(len(found)))
    for rank, hit in enumerate(found, 1):
        score = [green(f"{hit.score:.3f}")] if page.explain or not page.for_people else []
        body = _excerpt(page, hit.event.text, hit.span)
        if page.for_people and hit.replaced_at is not None:
            see = f", see {hit.replaced_by}" if hit.replaced_by else ""
            body.append(yellow(f"\nno longer so since {_day(hit.replaced_at)}{see}"))
        _item(page, f"{rank:>{width}}", [*_when_who_where(hit.event), *score, dim(hit.event.id)], body)
    if page.explain:
        _stages(page, found)
    if page.for_people and (sure := sureness_of(found)):
        page.gap()
        page.line(sure)


def sureness_of(found: Hits) -> Styled | None:
    """Say how sure the memory is of hits; None where it can't tell."""
    if not found or found.confidence is None:
        return None
    word, style = _sureness(found.confidence, _SURENESS_OF_HITS)
    return style(f"The answer is {word} among these.")


def _stages(page: Page, found: Sequence[Hit]) -> None:
    # The hit with the most stages determines their order.
    by_most = sorted(found, key=lambda hit: -len(hit.scores))
    stages = list(dict.fromkeys(score.stage for hit in by_most for score in hit.scores))
    rows: list[list[Piece]] = []
    for rank, hit in enumerate(found, 1):
        by_stage = {score.stage: score for score in hit.scores}
        scores = [_score(by_stage.get(stage)) for stage in stages]
        rows.append([cyan(str(rank)), *scores, green(f"{hit.score:.3f}"), _snippet(hit.event.text)])
    page.gap()
    page.table([">#", *(f">{stage}" for stage in stages), ">score", "text"], rows)


def _score(score: Score | None) -> Piece:
    if score is None:
        return dim("-")
    return f"{score.score:.3f}" if score.rank is None else f"{score.score:.3f} #{score.rank}"


def _packed(page: Page, text: str, packed: Context | Window | WakeUp, more: str) -> None:
    """Show a text; a person also sees its tokens."""
    if text:
        page.text(text)
        if page.for_people:
            page.gap()
            page.line(dim(f"{packed.tokens:,} of {packed.budget:,} tokens{more}"))


def _context(page: Page, written: Context) -> None:
    if not written.text:
        _nothing_found(page)
    _packed(page, written.text, written, f" ({written.tokenizer})")
    for citation in written.citations if page.for_people else ():
        page.line(dim(f"{citation.mark} {citation.event_id}{f'  {citation.key}' if citation.key else ''}"))


def _window(page: Page, shown: Window) -> None:
    """Show the window by tiers; programs get its fenced text."""
    tiers = {tier: [item.text for item in shown.items if item.tier is tier] for tier in Tier}
    by_tier = "\n".join("\n".join([f"[{tier.value}]", *texts]) for tier, texts in tiers.items() if texts)
    if not shown.items:
        _nothing_found(page)
    _packed(page, by_tier if page.for_people else shown.text, shown, f" ({shown.tokenizer})")


def _wake_up(page: Page, shown: WakeUp) -> None:
    """Show a wake-up; if it is to be explained, with why each line was chosen."""
    if not shown.text and page.for_people:
        page.line("There is nothing to tell yet. Say who the agent is with: everyword identity TEXT")
    _packed(page, shown.text, shown, f"; chosen from {shown.considered:,}")
    for line in shown.lines if page.explain else ():
        page.line(green(f"{line.citation.mark} {line.priority:.3f}  {line.citation.event_id}"))
        for reason in line.reasons:
            page.line(dim(f"     {reason.stage:10} {reason.score:+.3f}  {reason.why}"))


def _answer(page: Page, result: Answer) -> None:
    """Show an answer with its confidence, or that there is none."""
    if not result.answered:
        page.line(yellow("Not in this memory."))
        if result.nearest:
            page.text(f"The nearest line: {result.nearest}")
        return
    page.text(result.text)
    page.gap()
    for citation in result.citations:
        page.line(dim(f"{citation.mark} {citation.event_id}"))
    if page.for_people:
        by = "Quoted" if result.written_by == "quote" else f"Written by {result.written_by}"
        if result.confidence is None:
            page.line(dim(f"{by}."))
        else:
            word, style = _sureness(result.confidence)
            page.line(dim(f"{by}; "), style(f"{word} the answer."))


def _identity(page: Page, shown: Identity | None) -> None:
    if shown is None:
        page.line("No identity is set. Set one with: everyword identity TEXT")
        return
    page.text(shown.text)
    if page.for_people:
        where = f", only for {shown.wing}" if shown.wing else ""
        page.line(dim(f"set on {shown.set_at:%Y-%m-%d}{where}; {shown.event_id}"))


# Statements and facts


def _statement_heading(statement: Statement) -> list[Piece]:
    happened = statement.kind is StatementKind.EVENT
    return [
        cyan(statement.kind.value),
        bold(statement.content),
        green(_day(statement.valid_from) if happened else _validity(statement.valid_from, statement.valid_to)),
        red("" if statement.status is Status.CURRENT else statement.status.value),
        dim(statement.id),
    ]


def _statement_quote(statement: Statement) -> str:
    if statement.extractor == BY_HAND:
        return f"corrected by {statement.speaker or 'unknown'}"
    return _quote(statement.quote, statement.speaker)


def _history(page: Page, shown: History) -> None:
    """Show the versions of a statement, oldest first, and why each ended."""
    for number, version in enumerate(shown.versions, 1):
        _item(page, str(number), _statement_heading(version.statement), [dim(_statement_quote(version.statement))])
        for change in version.changes:
            if change.statement_id in (None, version.statement.id):  # else it is told with the version that it made
                what = "first said" if change.action == _FIRST_SAID else change.reason
                page.line(dim(f"     {change.at:%Y-%m-%d}  {what}"))


def _record_details(record: Record) -> str:
    details = ", ".join(f"{name} {value}" for name, value in record.details.items())
    return f"“{record.text}” {details}".rstrip() if record.text else details


def _fact_heading(fact: Fact) -> list[Piece]:
    return [
        cyan(fact.subject_name),
        fact.relation.replace("_", " "),
        bold(fact.object_name),
        green(_validity_of(fact)),
        yellow("" if fact.confidence >= _SURE_FACT else _sureness(fact.confidence)[0]),
        red("conflicts" if fact.conflicts else ""),
    ]


def _fact_quotes(fact: Fact) -> str:
    lines = [
        f"{_day(source.said_at)} “{source.quote}”" + (" ended it" if number and _only_ends(source, fact) else "")
        for number, source in enumerate(fact.sources[:_MOST_QUOTES])
    ]
    more = len(fact.sources) - len(lines)
    return "\n".join(lines + [f"and {more} more"] * (more > 0))


def _only_ends(claim: FactDraft, fact: Fact) -> bool:
    """Tell a claim of which only the end counts: "I moved to Porto" for a home in Lisbon."""
    says_end = claim.valid_to is not None and claim.valid_from is None and claim.begun_by is None
    return claim.object != fact.object or says_end


def _entity(page: Page, one: Entity) -> None:
    rows = [
        ("name", cyan(one.name)),
        ("type", one.type.value),
        ("also", ", ".join(one.aliases)),
        ("events", green(f"{one.events:,}")),
        ("first", _day(one.first_at)),
        ("last", _day(one.last_at)),
        ("id", dim(one.id)),
    ]
    page.fields([row for row in rows if row[1]])


def _entity_row(entity: Entity) -> list[Piece]:
    also = dim(", ".join(entity.aliases[:_MOST_ALIASES]))
    return [cyan(entity.name), entity.type.value, green(f"{entity.events:,}"), _day(entity.last_at), also]


# Intents and concepts


def _intent_heading(intent: Intent) -> list[Piece]:
    due = f"by {day_in_words(intent.due)}" if intent.due else ""
    until = f"not before {day_in_words(intent.until)}" if intent.until else ""
    return [
        cyan(intent.category.value),
        bold(" ".join(intent.content.split())),
        green(due or until),
        (green if intent.status in LIVE else dim)(intent.status.value),
        dim(f"urgency {intent.urgency:.2f}, importance {intent.importance:.2f}"),
        dim(intent.id),
    ]


def _intent_reasons(intent: Intent) -> str:
    lines = [f"{_quote(ground.quote, ground.speaker)}, {day_in_words(ground.at)}" for ground in intent.grounds]
    if intent.settled_by is not None:
        how = f"“{intent.settled_by.quote}”" if intent.settled_by.quote else "hand"
        lines.append(f"{intent.status.value} by {how}, {day_in_words(intent.settled_by.at)}")
    if intent.topics:
        lines.append(f"topics: {', '.join(intent.topics)}")
    return "\n".join(lines)


def news(page: Page, kind: str, one: Event | Concept | Waiting | Intent) -> None:
    """Show one change."""
    if isinstance(one, Intent):
        page.item("", [green("new intent"), *_intent_heading(one)], [dim(_intent_reasons(one))])
        return
    if isinstance(one, Event):
        speaker = speaker_of(one)
        named = " ".join(f"{speaker}: {one.text}".split() if speaker else one.text.split())
    else:
        named = f"{one.kind} of {one.event_id or 'an event'}" if isinstance(one, Waiting) else one.label
    page.line(green(f"new {kind}"), "  ", bold(named))


def _palace(page: Page, shown: Palace) -> None:
    """Show the palace as a tree."""
    if not shown.wings:
        _nothing_found(page)
    for wing in shown.wings:
        page.line(cyan(wing.name or "(no wing)"), dim(f"  {count_of(wing.events, 'event')}"))
        for room in wing.rooms:
            page.line("  ", bold(room.label), dim(f"  {count_of(room.events, 'event')}"))
            for hall in room.halls:
                page.line("    ", hall.kind or "(no statement)")
                for closet in hall.closets:
                    page.line("      ", green(closet.session or "(no session)"), f"  {closet.summary}")
                    for drawer in closet.drawers:
                        words = shortened(" ".join(drawer.text.split()), _LONGEST_DRAWER)
                        page.line(dim(f"        {drawer.at:%Y-%m-%d} {drawer.event_id}  "), words)
    for tunnel in shown.tunnels:
        joined = " = ".join(name or "(no wing)" for name in tunnel.wings)
        page.line(dim("tunnel  "), bold(tunnel.label), f"  {joined}")


def _concept_row(concept: Concept) -> list[Piece]:
    return [
        *(bold(concept.label), f"{concept.events:,}", green(f"{concept.strength:.1f}"), _day(concept.last_at)),
        *(_snippet(concept.description), dim(concept.id)),
    ]


def _concept(page: Page, shown: ConceptView) -> None:
    """Show one concept with its events, edges and journal."""
    one = shown.concept
    page.line(bold(one.label), "  ", dim(one.id))
    page.line(one.description)
    closed = f", merged into {one.merged_into}" if one.merged_into else ", closed" if one.closed_at else ""
    span = f"{one.first_at:%Y-%m-%d} to {one.last_at:%Y-%m-%d}"
    page.line(dim(f"{one.events:,} events, {span}, strength {one.strength:.1f}{closed}"))
    page.gap()
    for ground in shown.grounds:
        heading = [cyan(ground.kind.value), green(f"{ground.weight:.2f}"), green(_day(ground.at)), dim(ground.event_id)]
        page.item("", heading, [dim(f"“{ground.quote}”")])
    for edge in shown.edges:
        page.line(*_edge(edge))
    _journal(page, shown.journal)


def _folded(page: Page, done: Folded) -> None:
    """Show what a pass of folding did, or would do."""
    verb = "would fold" if done.dry_run else "folded"
    changed = count_of(len(done.entries), "change")
    page.line(f"{verb} {count_of(done.events, 'event')}: {changed}, {done.waiting:,} queued")
    for debt, count in sorted(done.counts.items()):
        page.line(dim(f"  {debt}: {count:,}"))
    _journal(page, done.entries if done.dry_run else ())


def _journal(page: Page, entries: Sequence[JournalEntry]) -> None:
    for entry in entries:
        towards = f" {entry.edge.value if entry.edge else 'into'} {entry.target_id}" if entry.target_id else ""
        what = f"  {_JOURNAL_WORDS.get(entry.action, entry.action)} {entry.node_id}{towards}  "
        undone = "  undone" if entry.undone else ""
        page.line(green(_day(entry.at)), what, dim(f"{entry.reason}{undone}"), "  ", dim(entry.id))


def _edge(edge: ConceptEdge) -> list[Piece]:
    weights = green(f"{edge.weight:.2f}, now {edge.weight_at(utc_now()):.2f}")
    return spaced([cyan(f"{edge.source} {edge.kind.value} {edge.target}"), weights, dim(edge.reason)])


# Upkeep


def forget_preview(page: Page, receipt: Receipt, some: Sequence[Event]) -> None:
    """Show how many events `forget` would remove, and some of them."""
    if not receipt.events:
        page.line("No event matches.")
        return
    page.line(yellow(f"{count_of(receipt.events, 'event')} would be forgotten:"))
    for one in some:
        page.line("  ", *spaced([*_when_who_where(one), _snippet(one.text)]))
    if receipt.events > len(some):
        page.line(dim(f"  and {receipt.events - len(some):,} more"))


def _forgotten(page: Page, receipt: Receipt) -> None:
    if not receipt.events:
        page.line("No event matches; nothing was forgotten.")
        return
    derived = _counts((name, count) for name, count in receipt.removed.items() if count and name not in _INDEXES)
    page.line(
        green(f"forgot {count_of(receipt.events, 'event')}"),
        f" (and {derived})" if derived else "",
        "; erased from disk" if receipt.scrubbed else "",
    )
    for place in receipt.left:
        page.line((dim if receipt.scrubbed else yellow)(f"  may still hold their text: {place}"))


def _stats(page: Page, counted: Stats) -> None:
    """Show the contents of a space and the size of the file."""
    elsewhere = f" of {counted.events_total:,} in {counted.spaces:,} spaces" if counted.spaces > 1 else ""
    graph = {name: counted.graph[name] for name in ("entities", "facts", "conflicts") if counted.graph.get(name)}
    tags = [f"{tag} {count:,}" for tag, count in islice(counted.tags.items(), _MOST_TAGS)]
    more = len(counted.tags) - len(tags)
    rows: list[tuple[str, Piece]] = [
        ("memory", bold(counted.location)),
        ("space", counted.space),
        ("events", f"{counted.events:,}{elsewhere}"),
        *((name, f"{getattr(counted, name):,}") for name in ("sessions", "speakers", "wings")),
        ("from, to", ", ".join(filter(None, map(when, (counted.first_at, counted.last_at))))),
        ("statements", ", ".join(count_of(count, kind) for kind, count in counted.statements.items())),
        ("graph", _counts(graph.items()) if "entities" in graph else ""),
        ("tags", ", ".join(tags) + (f" and {more:,} more" if more else "")),
        ("model", counted.model or "none yet"),
        ("vectors", f"{counted.vectors:,}"),
        ("queue", (yellow if counted.pending else Styled)(f"{counted.pending:,}")),
        ("not derived yet", yellow(_counts(counted.behind.items())) if counted.behind else ""),
        ("size", size(counted.bytes)),
        ("schema", str(counted.schema)),
    ]
    page.fields([row for row in rows if row[1]])
    if counted.bytes_by_part:
        page.gap()
        largest_first = sorted(counted.bytes_by_part.items(), key=lambda part: (-part[1], part[0]))
        total = sum(counted.bytes_by_part.values()) or 1
        parts = [(name, size(count), f"{count / total:.1%}") for name, count in largest_first]
        page.table(("part", ">size", ">share"), parts)


def _report(page: Page, found: Report) -> None:
    """Show the problems that `verify` found."""
    checked = _counts((name, count) for name, count in found.checked.items() if count)
    if found.ok:
        page.line(green("ok"), f"  {checked}")
        return
    page.line(red(count_of(len(found.problems), "problem")), f"  {checked}")
    rows = [(bold(problem.where), problem.what, green(problem.fix)) for problem in found.problems]
    page.table(("where", "what", "fix"), rows)


# Keys and webhooks of the service


def _key_row(key: ApiKey) -> list[Piece]:
    if key.revoked_at is not None:
        state = red(f"revoked {when(key.revoked_at)}")
    elif key.expires_at is None:
        state = green("valid")
    else:
        ends = when(key.expires_at)
        state = green(f"valid until {ends}") if key.usable(utc_now()) else yellow(f"expired {ends}")
    return [cyan(key.id), key.name, key.permission.value, ", ".join(key.spaces), state]


def _webhook_row(webhook: Webhook) -> list[Piece]:
    again = "" if webhook.due_at is None else f", next attempt at {when(webhook.due_at)}"
    failed = yellow(f"failed {webhook.attempts} times{again}: {webhook.error}")
    state = failed if webhook.attempts else green("ok")
    return [cyan(webhook.id), webhook.space, webhook.url, f"{webhook.delivered:,}", state]


_show_statements = _list(_statement_heading, _statement_quote)
_show_intents = _list(_intent_heading, _intent_reasons)
_show_facts = _list(_fact_heading, _fact_quotes)
_show_edits = table(
    ">number when kind what ",
    lambda edit: [green(str(edit.number)), _day(edit.at), edit.kind, edit.what, "undone" if edit.undone else ""],
)

# The view of each operation; commands.py has those that depend on the request.
VIEWS: dict[str, Callable[[Page, Any], None]] = {
    "add": _written,
    "recall": _hits,
    "context": _context,
    "ask": _answer,
    "wake_up": _wake_up,
    "identity": _identity,
    "statements": _show_statements,
    "history": _history,
    "correct": _single(_show_statements),
    "retract": _single(_show_statements),
    "records": _list(
        lambda record: [cyan(record.kind.value), bold(f"by {record.by}"), green(when(record.at)), dim(record.id)],
        _record_details,
    ),
    "intents": _show_intents,
    "answer_intent": _single(_show_intents),
    "window": _window,
    "palace": _palace,
    "concepts": table("concept >events >strength last about id", _concept_row),
    "concept": _concept,
    "fold": _folded,
    "journal": lambda page, entries: _journal(page, entries) if entries else _nothing_found(page),
    "undo_change": _single(_journal),
    "show": _event,
    "entities": table("name type >events last also", _entity_row),
    "entity": _entity,
    "facts": _show_facts,
    "timeline": _show_facts,
    "conflicts": _show_facts,
    "merge": _entity,
    "split": _entity,
    "edits": _show_edits,
    "undo": _single(_show_edits),
    "sessions": _sessions,
    "events": _events,
    "forget": _forgotten,
    "stats": _stats,
    "verify": _report,
    "keys create": lambda page, created: page.line(bold(created.secret)),
    "keys list": table(
        "id name permission spaces state", _key_row, empty="no keys; only this machine can use the service"
    ),
    "keys revoke": lambda page, key: page.line(f"revoked {key.id} ({key.name})"),
    "webhooks add": lambda page, created: page.line(created.webhook.id, "  ", bold(created.secret)),
    "webhooks list": table("id space address >delivered state", _webhook_row, empty="no webhooks"),
    "settle": lambda page, done: page.line(f"done: {done:,}" if done else "the queue is empty"),
}
