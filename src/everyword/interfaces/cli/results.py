"""Show results as text: one function per type of result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from everyword.interfaces.cli.page import Column, Page, Piece, Style, Styled
from everyword.text.terms import shortened, whole_until
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
from everyword.types.graph import Entity, EntityEdit, Fact
from everyword.types.intents import LIVE, Identity, Intent, Palace, Tier, WakeUp, Window
from everyword.types.records import Record
from everyword.types.service import Waiting
from everyword.types.statements import BY_HAND, History, Statement, StatementKind, Status
from everyword.types.times import Zone, day_in_words, shown_in, utc_now

_MOST_SHOWN = 700  # characters of one text on a terminal; `show` prints all
_BEFORE_MATCH = 200  # characters of these that may precede the match
_SNIPPET = 60  # characters of a text in a table
_ELLIPSIS = "…"
_MOST_TAGS = 6  # of `stats`, the most frequent; --json has all
_MOST_KEYS = 3  # of a session in a table; --json has all
# Least probability, its word, and how it is shown.
_SURENESS: tuple[tuple[float, str, Style], ...] = (
    (0.9, "almost certainly", "good"),
    (0.7, "probably", "good"),
    (0.4, "perhaps", "warning"),
    (0.0, "probably not", "warning"),
)
_SURE_FACT = 0.7  # a fact below it is marked
_LONGEST_DRAWER = 100  # characters of an event in the palace
_MOST_QUOTES = 2  # of one fact; --json has all
_MOST_ALIASES = 6

_ID = re.compile(r"[a-z]+_[0-9a-f]{12,}")

_zone: Zone = UTC  # set once for each command

Row = dict[Column, Piece]  # the cells of a table row by column


def written(page: Page, outcome: Written) -> None:
    """Show whether an event was stored."""
    verdict = Styled("stored", "good") if outcome.new else Styled("already there", "warning")
    page.line(verdict, "  ", Styled(outcome.id, "dim"))
    _redacted(page, outcome.redacted)


def imported(page: Page, done: Imported) -> None:
    """Show the counts of an import."""
    differing = f", already there with other text {done.differing:,}" if done.differing else ""
    page.line(
        f"read {count_of(done.read, 'event')} (format: {done.format}), ",
        Styled(f"stored {done.added:,}", "good"),
        f", already there {done.known:,}{differing}",
    )
    if done.unchanged:
        page.line(Styled(f"  {count_of(done.unchanged, 'file')} of {done.files:,} unchanged, not read again", "dim"))
    for reason, count in sorted(done.skipped.items(), key=lambda one: -one[1]):
        page.line(Styled(f"  skipped {count:,}: {reason}", "dim"))
    for sample in done.not_understood:
        page.line(Styled(f"  not understood: {sample}", "warning"))
    _redacted(page, done.redacted)


def _redacted(page: Page, kinds: Mapping[str, int]) -> None:
    for kind, count in sorted(kinds.items(), key=lambda one: -one[1]):
        page.line(Styled(f"  redacted: {count_of(count, kind)}", "warning"))


def hits(page: Page, found: Hits, *, explain: bool) -> None:
    """List hits, best first; `explain` adds the scores of each stage."""
    if not found:
        _nothing_found(page)
    width = len(str(len(found)))
    for rank, hit in enumerate(found, 1):
        score = [Styled(f"{hit.score:.3f}", "number")] if explain or not page.for_people else []
        heading = [*_when_who_where(hit.event), *score, Styled(hit.event.id, "dim")]
        body = _excerpt(page, hit.event.text, hit.span)
        if page.for_people and hit.replaced_at is not None:
            body.append(Styled(_replaced(hit), "warning"))
        _item(page, f"{rank:>{width}}", heading, body)
    if found and explain:
        _stages(page, found)
    if found and page.for_people and found.confidence is not None:
        page.gap()
        word, style = _sureness(found.confidence)
        page.line(Styled(f"The answer is {word} among these.", style))


def _replaced(hit: Hit) -> str:
    see = f", see {hit.replaced_by}" if hit.replaced_by else ""
    return f"\nno longer so since {_day(hit.replaced_at)}{see}"


def _item(page: Page, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
    """Write an entry of a list; for a person, an id that ends the heading goes below, so that the heading is short."""
    *rest, last = heading
    if page.for_people and isinstance(last, Styled) and last.style == "dim" and _ID.fullmatch(last.text):
        page.item(mark, rest, [*body, Styled(f"\n{last.text}", "dim")])
    else:
        page.item(mark, heading, body)


def _sureness(confidence: float) -> tuple[str, Style]:
    """Put a probability into a word, and the style in which it is shown; --json has the number."""
    return next((word, style) for least, word, style in _SURENESS if confidence >= least)


def context(page: Page, written: Context) -> None:
    """Show a context; a person also sees its tokens and citations."""
    if not page.for_people:
        if written.text:
            page.text(written.text)
        return
    if not written.text:
        _nothing_found(page)
        return
    page.text(written.text)
    page.gap()
    page.line(Styled(f"{written.tokens:,} of {written.budget:,} tokens ({written.tokenizer})", "dim"))
    for citation in written.citations:
        key = f"  {citation.key}" if citation.key else ""
        page.line(Styled(f"{citation.mark} {citation.event_id}{key}", "dim"))


def event(page: Page, shown: Event) -> None:
    """Show one event in full."""
    fields: list[tuple[str, Piece | None]] = [
        ("id", shown.id),
        ("key", shown.key),
        ("space", shown.space),
        ("wing", shown.wing),
        ("session", shown.session),
        ("speaker", None if shown.speaker is None else Styled(shown.speaker, "name")),
        ("role", shown.role),
        ("source", shown.source),
        ("at", shown_in(shown.at, _zone).isoformat(" ")),
        ("recorded", shown_in(shown.recorded_at, _zone).isoformat(" ")),
        ("meta", json.dumps(shown.meta, ensure_ascii=False) if shown.meta else None),
    ]
    page.fields([(name, value) for name, value in fields if value is not None])
    page.gap()
    page.text(shown.text)


def events(page: Page, listed: Iterable[Event]) -> None:
    """List events while they are read."""
    one = None
    for one in listed:
        heading = (*_when_who_where(one), Styled(one.id, "dim"))
        _item(page, "", heading, _excerpt(page, one.text, Span(0, 0)))
    if one is None:
        _nothing_found(page)


def sessions(page: Page, listed: Sequence[Session]) -> None:
    """List sessions: for a person two lines each, else a table."""
    if not page.for_people or not listed:
        _table(_session_row)(page, listed)
        return
    for one in listed:
        first, last = _day(one.first_at), _day(one.last_at)
        days = first if first == last else f"{first} to {last}"
        wings = Styled(", ".join(one.wings), "dim")
        heading = [Styled(one.name, "strong"), Styled(days, "number"), count_of(one.events, "event"), wings]
        about = one.written[0].text if one.written else ", ".join(one.keys[:_MOST_KEYS])
        body = [Styled(", ".join(one.speakers), "name"), Styled(f"  {about}" if about else "", "dim")]
        page.item("", heading, body)


def _session_row(session: Session) -> Row:
    return {
        Column("session", style="strong"): session.name,
        Column("events", right=True): f"{session.events:,}",
        Column("first"): _when(session.first_at),
        Column("last"): _when(session.last_at),
        Column("speakers", style="name"): ", ".join(session.speakers),
        Column("wings"): ", ".join(session.wings),
        Column("about", style="dim"): (
            session.written[0].text if session.written else ", ".join(session.keys[:_MOST_KEYS])
        ),
    }


def forget_preview(page: Page, receipt: Receipt, some: Sequence[Event]) -> None:
    """Show how many events `forget` would remove, and some of them."""
    if not receipt.events:
        page.line("No event matches.")
        return
    page.line(Styled(f"{count_of(receipt.events, 'event')} would be forgotten:", "warning"))
    for one in some:
        page.line("  ", *_spaced(_when_who_where(one)), "  ", _snippet(one.text))
    if receipt.events > len(some):
        page.line(Styled(f"  and {receipt.events - len(some):,} more", "dim"))


def forgotten(page: Page, receipt: Receipt) -> None:
    """Show what `forget` removed."""
    if not receipt.events:
        page.line("No event matches; nothing was forgotten.")
        return
    derived = _counts((name, count) for name, count in receipt.removed.items() if count and name != "events")
    page.line(
        Styled(f"forgot {count_of(receipt.events, 'event')}", "good"),
        f" (and {derived})" if derived else "",
        "; erased from disk" if receipt.scrubbed else "",
    )
    for place in receipt.left:
        page.line(Styled(f"  may still hold their text: {place}", "dim" if receipt.scrubbed else "warning"))


def stats(page: Page, counted: Stats) -> None:
    """Show the contents of a space and the size of the file."""
    elsewhere = f" of {counted.events_total:,} in {counted.spaces:,} spaces" if counted.spaces > 1 else ""
    rows: list[tuple[str, Piece]] = [
        ("memory", Styled(counted.location, "strong")),
        ("space", counted.space),
        ("events", f"{counted.events:,}{elsewhere}"),
        ("sessions", f"{counted.sessions:,}"),
        ("speakers", f"{counted.speakers:,}"),
        ("wings", f"{counted.wings:,}"),
    ]
    if counted.first_at is not None and counted.last_at is not None:
        rows.append(("from, to", f"{_when(counted.first_at)}, {_when(counted.last_at)}"))
    if counted.statements:
        rows.append(("statements", ", ".join(count_of(count, kind) for kind, count in counted.statements.items())))
    if counted.graph.get("entities"):
        shown = {name: counted.graph[name] for name in ("entities", "facts", "conflicts") if counted.graph.get(name)}
        rows.append(("graph", _counts(shown.items())))
    if counted.tags:
        more = len(counted.tags) - _MOST_TAGS
        rest = f" and {more:,} more" if more > 0 else ""
        most = islice(counted.tags.items(), _MOST_TAGS)
        rows.append(("tags", ", ".join(f"{tag} {count:,}" for tag, count in most) + rest))
    rows += [
        ("model", counted.model or "none yet"),
        ("vectors", f"{counted.vectors:,}"),
        ("queue", Styled(f"{counted.pending:,}", "warning" if counted.pending else "")),
        *([("not derived yet", Styled(_counts(counted.behind.items()), "warning"))] if counted.behind else []),
        ("size", size(counted.bytes)),
        ("schema", str(counted.schema)),
    ]
    page.fields(rows)
    if counted.bytes_by_part:
        page.gap()
        _parts(page, counted.bytes_by_part.items())


def report(page: Page, found: Report) -> None:
    """Show the problems that `verify` found."""
    checked = ", ".join(f"{count:,} {name}" for name, count in found.checked.items())
    if found.ok:
        page.line(Styled("ok", "good"), f"  {checked}")
        return
    page.line(Styled(count_of(len(found.problems), "problem"), "bad"), f"  {checked}")
    page.table(
        (Column("where", style="strong"), Column("what"), Column("fix", style="number")),
        [(problem.where, problem.what, problem.fix) for problem in found.problems],
    )


def size(count: int) -> str:
    """Write a number of bytes with a unit."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:,.0f} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def answer(page: Page, result: Answer) -> None:
    """Show an answer with its confidence, or that there is none."""
    if not result.answered:
        page.line(Styled("Not in this memory.", "warning"))
        if result.nearest:
            page.text(f"The nearest line: {result.nearest}")
        return
    page.text(result.text)
    page.gap()
    for citation in result.citations:
        page.line(Styled(f"{citation.mark} {citation.event_id}", "dim"))
    if page.for_people:
        by = "Quoted" if result.written_by == "quote" else f"Written by {result.written_by}"
        if result.confidence is None:
            page.line(Styled(f"{by}.", "dim"))
        else:
            word, style = _sureness(result.confidence)
            page.line(Styled(f"{by}; ", "dim"), Styled(f"{word} the answer.", style))


def history(page: Page, shown: History) -> None:
    """Show the versions of a statement, oldest first, and why each ended."""
    for number, version in enumerate(shown.versions, 1):
        _item(page, str(number), _statement_heading(version.statement), _quoted(version.statement))
        for change in version.changes:
            page.line(Styled(f"     {change.at:%Y-%m-%d}  {change.action}: {change.reason}", "dim"))


def _record_heading(record: Record) -> list[Piece]:
    return [
        Styled(record.kind.value, "name"),
        Styled(f"by {record.by}", "strong"),
        Styled(_when(record.at), "number"),
        Styled(record.id, "dim"),
    ]


def _record_details(record: Record) -> list[Piece]:
    details = [f"{name} {value}" for name, value in record.details.items()]
    return [Styled(", ".join([record.text, *details] if record.text else details), "dim")]


def _statement_heading(statement: Statement) -> list[Piece]:
    status = "" if statement.status is Status.CURRENT else statement.status.value
    happened = statement.kind is StatementKind.EVENT
    return [
        Styled(statement.kind.value, "name"),
        Styled(statement.content, "strong"),
        Styled(
            _day(statement.valid_from) if happened else _validity(statement.valid_from, statement.valid_to), "number"
        ),
        Styled(status, "bad" if status else "dim"),
        Styled(statement.id, "dim"),
    ]


def _quoted(statement: Statement) -> list[Piece]:
    if statement.extractor == BY_HAND:
        return [Styled(f"corrected by {statement.speaker or 'unknown'}", "dim")]
    return [Styled(f"“{statement.quote}”{_speaker(statement.speaker)}", "dim")]


def window(page: Page, shown: Window) -> None:
    """Show the window by tiers; programs get its fenced text."""
    if not page.for_people:
        if shown.text:
            page.text(shown.text)
        return
    for tier in Tier:
        held = [item for item in shown.items if item.tier is tier]
        if held:
            page.line(Styled(f"[{tier.value}]", "strong"))
            for item in held:
                page.line(item.text)
    if not shown.items:
        _nothing_found(page)
    page.gap()
    page.line(Styled(f"{shown.tokens:,} of {shown.budget:,} tokens ({shown.tokenizer})", "dim"))


def palace(page: Page, shown: Palace) -> None:
    """Show the palace as a tree."""
    if not shown.wings:
        _nothing_found(page)
    for wing in shown.wings:
        page.line(Styled(wing.name or "(no wing)", "name"), Styled(f"  {wing.events:,} events", "dim"))
        for room in wing.rooms:
            page.line("  ", Styled(room.label, "strong"), Styled(f"  {room.events:,} events", "dim"))
            for hall in room.halls:
                page.line("    ", hall.kind or "(no statement)")
                for closet in hall.closets:
                    page.line("      ", Styled(closet.session or "(no session)", "number"), f"  {closet.summary}")
                    for drawer in closet.drawers:
                        words = shortened(" ".join(drawer.text.split()), _LONGEST_DRAWER)
                        page.line(Styled(f"        {drawer.at:%Y-%m-%d} {drawer.event_id}  ", "dim"), words)
    for tunnel in shown.tunnels:
        joined = " = ".join(name or "(no wing)" for name in tunnel.wings)
        page.line(Styled("tunnel  ", "dim"), Styled(tunnel.label, "strong"), f"  {joined}")


def news(page: Page, kind: str, one: Any) -> None:
    """Show one change."""
    if isinstance(one, Intent):
        page.item("", [Styled("new intent", "good"), *_intent_heading(one)], _why(one))
    else:
        page.line(Styled(f"new {kind}", "good"), "  ", Styled(_named(one), "strong"))


def _named(one: Event | Concept | Waiting) -> str:
    if isinstance(one, Event):
        return " ".join(f"{one.speaker}: {one.text}".split() if one.speaker else one.text.split())
    if isinstance(one, Waiting):
        return f"{one.kind} of {one.event_id or 'an event'}"
    return one.label


def _intent_heading(intent: Intent) -> list[Piece]:
    due = f"by {day_in_words(intent.due)}" if intent.due else ""
    until = f"not before {day_in_words(intent.until)}" if intent.until else ""
    return [
        Styled(intent.category.value, "name"),
        Styled(" ".join(intent.statement.split()), "strong"),
        Styled(due or until, "number"),
        Styled(intent.status.value, "good" if intent.status in LIVE else "dim"),
        Styled(f"urgency {intent.urgency:.2f}, importance {intent.importance:.2f}", "dim"),
        Styled(intent.id, "dim"),
    ]


def _why(intent: Intent) -> list[Piece]:
    lines = [f"“{ground.quote}”{_speaker(ground.speaker)}, {day_in_words(ground.at)}" for ground in intent.grounds]
    if intent.settled_by is not None:
        lines.append(f"resolved by “{intent.settled_by.quote}”, {day_in_words(intent.settled_by.at)}")
    if intent.topics:
        lines.append(f"topics: {', '.join(intent.topics)}")
    return [Styled("\n".join(lines), "dim")]


def _speaker(speaker: str | None) -> str:
    return f" ({speaker})" if speaker else ""


def _concept_row(concept: Concept) -> Row:
    return {
        Column("concept", style="strong"): concept.label,
        Column("events", right=True): f"{concept.events:,}",
        Column("strength", right=True, style="number"): f"{concept.strength:.1f}",
        Column("last"): _day(concept.last_at),
        Column("about"): _snippet(concept.description),
        Column("id", style="dim"): concept.id,
    }


def concept(page: Page, shown: ConceptView) -> None:
    """Show one concept with its events, edges and journal."""
    one = shown.concept
    page.line(Styled(one.label, "strong"), "  ", Styled(one.id, "dim"))
    page.line(one.description)
    closed = f", merged into {one.merged_into}" if one.merged_into else ", closed" if one.closed_at else ""
    span = f"{one.first_at:%Y-%m-%d} to {one.last_at:%Y-%m-%d}"
    page.line(Styled(f"{one.events:,} events, {span}, strength {one.strength:.1f}{closed}", "dim"))
    page.gap()
    for ground in shown.grounds:
        heading = [
            Styled(ground.kind.value, "name"),
            Styled(f"{ground.weight:.2f}", "number"),
            Styled(f"{ground.at:%Y-%m-%d}", "number"),
            Styled(ground.event_id, "dim"),
        ]
        page.item("", heading, [Styled(f"“{ground.quote}”", "dim")])
    for edge in shown.edges:
        page.line(*_edge(edge))
    for entry in shown.journal:
        page.line(*_entry(entry))


def folded(page: Page, done: Folded) -> None:
    """Show what a pass of folding did, or would do."""
    verb = "would fold" if done.dry_run else "folded"
    page.line(f"{verb} {done.events:,} events: {len(done.entries):,} changes, {done.waiting:,} events queued")
    for debt, count in sorted(done.counts.items()):
        page.line(Styled(f"  {debt}: {count:,}", "dim"))
    for entry in done.entries if done.dry_run else ():
        page.line(*_entry(entry))


def journal(page: Page, entries: Sequence[JournalEntry]) -> None:
    """List journal entries."""
    if not entries:
        _nothing_found(page)
    for entry in entries:
        page.line(*_entry(entry))


def _edge(edge: ConceptEdge) -> list[Piece]:
    now = edge.weight_at(utc_now())
    return [
        Styled(f"{edge.source} {edge.kind.value} {edge.target}", "name"),
        "  ",
        Styled(f"{edge.weight:.2f}, now {now:.2f}", "number"),
        "  ",
        Styled(edge.reason, "dim"),
    ]


def _entry(entry: JournalEntry) -> list[Piece]:
    towards = f" → {entry.target_id}" if entry.target_id else ""
    kind = f" {entry.edge.value}" if entry.edge else ""
    undone = "  undone" if entry.undone else ""
    return [
        Styled(f"{entry.at:%Y-%m-%d}", "number"),
        f"  {entry.debt.value}: {entry.action}{kind} {entry.node_id}{towards}  ",
        Styled(f"{entry.reason}{undone}", "dim"),
        "  ",
        Styled(entry.id, "dim"),
    ]


def _entity_row(entity: Entity) -> Row:
    return {
        Column("name", style="name"): entity.name,
        Column("type"): entity.type.value,
        Column("events", right=True, style="number"): f"{entity.events:,}",
        Column("last"): _day(entity.last_at),
        Column("also", style="dim"): ", ".join(entity.aliases[:_MOST_ALIASES]),
    }


def entity(page: Page, one: Entity) -> None:
    """Show one entity."""
    rows: list[tuple[str, Piece]] = [
        ("name", Styled(one.name, "name")),
        ("type", one.type.value),
        ("also", ", ".join(one.aliases)),
        ("events", Styled(f"{one.events:,}", "number")),
        ("first", _day(one.first_at)),
        ("last", _day(one.last_at)),
        ("id", Styled(one.id, "dim")),
    ]
    page.fields([row for row in rows if row[1] != ""])


def _edit_row(edit: EntityEdit) -> Row:
    return {
        Column("number", right=True, style="number"): str(edit.number),
        Column("when"): _day(edit.at),
        Column("kind"): edit.kind,
        Column("what"): edit.what,
        Column(""): "undone" if edit.undone else "",
    }


def _fact_heading(fact: Fact) -> list[Piece]:
    return [
        Styled(fact.subject_name, "name"),
        fact.relation.replace("_", " "),
        Styled(fact.object_name, "strong"),
        Styled(_validity(fact.valid_from, fact.valid_to), "number"),
        Styled("" if fact.confidence >= _SURE_FACT else _sureness(fact.confidence)[0], "warning"),
        Styled("conflicts" if fact.conflicts else "", "bad"),
    ]


def _validity(start: datetime | None, end: datetime | None) -> str:
    if start is not None and start == end:
        return _day(start)
    return " ".join([*([f"since {_day(start)}"] if start else []), *([f"until {_day(end)}"] if end else [])])


def _quotes(fact: Fact) -> list[Piece]:
    lines = [f"{_day(source.said_at)} “{source.quote}”" for source in fact.sources[:_MOST_QUOTES]]
    more = len(fact.sources) - len(lines)
    if more > 0:
        lines.append(f"and {more} more")
    return [Styled("\n".join(lines), "dim")]


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def wake_up(page: Page, shown: WakeUp, *, explain: bool) -> None:
    """Show a wake-up; `explain` adds why each line was chosen."""
    if shown.text:
        page.text(shown.text)
    elif page.for_people:
        page.line("There is nothing to tell yet. Say who the agent is with: everyword identity TEXT")
    if explain:
        for line in shown.lines:
            page.line(Styled(f"{line.citation.mark} {line.priority:.3f}  {line.citation.event_id}", "number"))
            for reason in line.reasons:
                page.line(Styled(f"     {reason.stage:10} {reason.score:+.3f}  {reason.why}", "dim"))
    if shown.text and page.for_people:
        page.gap()
        page.line(Styled(f"{shown.tokens} of {shown.budget} tokens; chosen from {shown.considered:,}", "dim"))


def identity(page: Page, shown: Identity | None) -> None:
    """Show who the agent is."""
    if shown is None:
        page.line("No identity is set. Set one with: everyword identity TEXT")
        return
    page.text(shown.text)
    if page.for_people:
        where = f", only for {shown.wing}" if shown.wing else ""
        page.line(Styled(f"set on {shown.set_at:%Y-%m-%d}{where}; {shown.event_id}", "dim"))


def _nothing_found(page: Page) -> None:
    if page.for_people:
        page.line(Styled("Nothing found.", "dim"))


def _when_who_where(one: Event) -> tuple[Piece, ...]:
    return (Styled(_when(one.at), "dim"), Styled(one.speaker or "", "name"), Styled(one.session or "", "dim"))


def _spaced(pieces: Iterable[Piece]) -> list[Piece]:
    spaced: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) or piece.text:
            spaced += ["  ", piece] if spaced else [piece]
    return spaced


def _excerpt(page: Page, text: str, span: Span) -> list[Piece]:
    """Mark the match; for a person, cut a long text to its surroundings."""
    start, end = 0, len(text)
    if page.for_people and end > _MOST_SHOWN:
        start = max(0, min(span.start - _BEFORE_MATCH, end - _MOST_SHOWN)) if span.end > _MOST_SHOWN else 0
        start, end = whole_until(text, start), whole_until(text, min(end, start + _MOST_SHOWN))
    match_start, match_end = min(max(span.start, start), end), min(max(span.end, start), end)
    return [
        Styled(_ELLIPSIS if start else "", "dim"),
        text[start:match_start],
        # A match that covers the whole text needs no highlight.
        Styled(text[match_start:match_end], "match" if span != (0, len(text)) else "strong"),
        text[match_end:end],
        Styled(_ELLIPSIS if end < len(text) else "", "dim"),
    ]


def _stages(page: Page, found: Sequence[Hit]) -> None:
    # The hit with the most stages determines their order.
    by_most = sorted(found, key=lambda hit: -len(hit.scores))
    stages = list(dict.fromkeys(score.stage for hit in by_most for score in hit.scores))
    rows: list[list[Piece]] = []
    for rank, hit in enumerate(found, 1):
        by_stage = {score.stage: score for score in hit.scores}
        scores = [_score(by_stage.get(stage)) for stage in stages]
        rows.append([str(rank), *scores, f"{hit.score:.3f}", _snippet(hit.event.text)])
    page.gap()
    page.table(
        (
            Column("#", right=True, style="name"),
            *(Column(stage, right=True) for stage in stages),
            Column("score", right=True, style="number"),
            Column("text"),
        ),
        rows,
    )


def _score(score: Score | None) -> Piece:
    if score is None:
        return Styled("-", "dim")
    return f"{score.score:.3f}" if score.rank is None else f"{score.score:.3f} #{score.rank}"


def _counts(counted: Iterable[tuple[str, int]]) -> str:
    """List numbers of things, given by their names in the plural."""
    return ", ".join(f"{count:,} {_one_of(things) if count == 1 else things}" for things, count in counted)


def _one_of(things: str) -> str:
    return f"{things.removesuffix('ies')}y" if things.endswith("ies") else things.removesuffix("s")


def _parts(page: Page, parts: Iterable[tuple[str, int]]) -> None:
    largest_first = sorted(parts, key=lambda part: (-part[1], part[0]))
    total = sum(count for _, count in largest_first) or 1
    page.table(
        (Column("part"), Column("size", right=True), Column("share", right=True)),
        [(name, size(count), f"{count / total:.1%}") for name, count in largest_first],
    )


def _snippet(text: str) -> str:
    line = " ".join(text[: 4 * _SNIPPET].split())
    return shortened(line, _SNIPPET)


def show_times_in(zone: Zone) -> None:
    """Set the zone in which times are shown."""
    global _zone
    _zone = zone


def _when(moment: datetime) -> str:
    return shown_in(moment, _zone).isoformat(" ", "minutes")


def count_of(count: int, thing: str) -> str:
    """Write a number of things, with the noun in its singular or plural."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _settled(page: Page, done: int) -> None:
    page.line(f"done: {done:,}" if done else "the queue is empty")


def _table(row: Callable[[Any], Row]) -> Callable[[Page, Sequence[Any]], None]:
    """Make a view that shows a list as a table."""

    def show(page: Page, listed: Sequence[Any]) -> None:
        if not listed:
            _nothing_found(page)
            return
        rows = [row(one) for one in listed]
        page.table(list(rows[0]), [list(cells.values()) for cells in rows])

    return show


def _list(
    heading: Callable[[Any], Sequence[Piece]], text: Callable[[Any], Sequence[Piece]]
) -> Callable[[Page, Sequence[Any]], None]:
    """Make a view that shows each entry of a list as a heading and a text."""

    def show(page: Page, listed: Sequence[Any]) -> None:
        if not listed:
            _nothing_found(page)
        for one in listed:
            _item(page, "", heading(one), text(one))

    return show


def _single(view: Callable[[Page, Sequence[Any]], None]) -> Callable[[Page, Any], None]:
    return lambda page, result: view(page, [result])


_statements = _list(_statement_heading, _quoted)
_intents = _list(_intent_heading, _why)
_facts = _list(_fact_heading, _quotes)
_edits = _table(_edit_row)

# The view of each operation; commands.py has those that depend on the request.
VIEWS: dict[str, Callable[[Page, Any], None]] = {
    "add": written,
    "context": context,
    "ask": answer,
    "identity": identity,
    "statements": _statements,
    "history": history,
    "correct": _single(_statements),
    "retract": _single(_statements),
    "records": _list(_record_heading, _record_details),
    "intents": _intents,
    "answer_intent": _single(_intents),
    "window": window,
    "palace": palace,
    "concepts": _table(_concept_row),
    "concept": concept,
    "fold": folded,
    "journal": journal,
    "undo_change": _single(journal),
    "show": event,
    "entities": _table(_entity_row),
    "entity": entity,
    "facts": _facts,
    "timeline": _facts,
    "conflicts": _facts,
    "merge": entity,
    "split": entity,
    "edits": _edits,
    "undo": _single(_edits),
    "sessions": sessions,
    "events": events,
    "stats": stats,
    "verify": report,
    "settle": _settled,
}
