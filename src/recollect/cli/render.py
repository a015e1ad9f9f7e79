"""Results laid out for reading: one function for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice

from recollect.cli.page import Column, Page, Piece, Styled
from recollect.core.scripts import shortened, whole_until
from recollect.core.values import (
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

_MOST_SHOWN = 700  # characters of one text at a terminal; `show` has the rest
_BEFORE_MATCH = 200  # of those, how many may stand before a match that lies further on
_SNIPPET = 60  # characters of a text in a table
_ELLIPSIS = "…"
_MOST_TAGS = 6  # of those that `stats` counts, the most frequent; --json has all
_MOST_KEYS = 3  # of a session in a table; --json has all
_NOTHING = Styled("Nothing found.", "dim")
_DOUBTFUL = 0.5  # confidence under which a person is warned


def written(page: Page, outcome: Written) -> None:
    """Say what became of an event."""
    verdict = Styled("stored", "good") if outcome.new else Styled("already there", "warning")
    page.line(verdict, "  ", Styled(outcome.id, "dim"))
    _redacted(page, outcome.redacted)


def imported(page: Page, done: Imported) -> None:
    """Close an import with what became of what was read."""
    differing = f", there with other words {done.differing:,}" if done.differing else ""
    page.line(
        f"{done.format}: read {done.read:,}, ",
        Styled(f"stored {done.added:,}", "good"),
        f", already there {done.known:,}{differing}",
    )
    if done.unchanged:
        page.line(Styled(f"  {_counted(done.unchanged, 'file')} of {done.files:,} unchanged, not read again", "dim"))
    for reason, count in sorted(done.skipped.items(), key=lambda one: -one[1]):
        page.line(Styled(f"  skipped {count:,}: {reason}", "dim"))
    for sample in done.not_understood:
        page.line(Styled(f"  not understood: {sample}", "warning"))
    _redacted(page, done.redacted)


def _redacted(page: Page, kinds: Mapping[str, int]) -> None:
    for kind, count in sorted(kinds.items(), key=lambda one: -one[1]):
        page.line(Styled(f"  taken out: {_counted(count, kind)}", "warning"))


def hits(page: Page, found: Hits, *, explain: bool) -> None:
    """List hits, best first; `explain` adds what each stage said."""
    if not found and page.for_people:
        page.line(_NOTHING)
    width = len(str(len(found)))
    for rank, hit in enumerate(found, 1):
        heading = (*_facts(hit.event), Styled(f"{hit.score:.3f}", "number"), Styled(hit.event.id, "dim"))
        page.item(f"{rank:>{width}}", heading, _shown(page, hit.event.text, hit.span))
    if found and explain:
        _stages(page, found)
    if found and page.for_people and found.confidence is not None:
        page.gap()
        doubt = " It may well be that nothing here answers the question." if found.confidence < _DOUBTFUL else ""
        page.line(Styled(f"An answer is among these with {found.confidence:.0%} confidence.{doubt}", "dim"))


def context(page: Page, written: Context) -> None:
    """Write a context; a person also sees what it cost and where it comes from."""
    if not page.for_people:
        if written.text:
            page.text(written.text)
        return
    if not written.text:
        page.line(_NOTHING)
        return
    page.text(written.text)
    page.gap()
    page.line(Styled(f"{written.tokens:,} of {written.budget:,} tokens ({written.tokenizer})", "dim"))
    for citation in written.citations:
        key = f"  {citation.key}" if citation.key else ""
        page.line(Styled(f"{citation.mark} {citation.event_id}{key}", "dim"))


def event(page: Page, shown: Event) -> None:
    """Show one event, all of it."""
    fields: list[tuple[str, Piece | None]] = [
        ("id", shown.id),
        ("key", shown.key),
        ("space", shown.space),
        ("wing", shown.wing),
        ("session", shown.session),
        ("speaker", None if shown.speaker is None else Styled(shown.speaker, "name")),
        ("role", shown.role),
        ("source", shown.source),
        ("at", shown.at.isoformat(" ")),
        ("recorded", shown.recorded_at.isoformat(" ")),
        ("meta", _json(shown.meta) if shown.meta else None),
    ]
    page.fields([(name, value) for name, value in fields if value is not None])
    page.gap()
    page.text(shown.text)


def events(page: Page, listed: Iterable[Event]) -> None:
    """List events as they come."""
    none = True
    for one in listed:
        none = False
        heading = (*_facts(one), Styled(one.id, "dim"))
        page.item("", heading, _shown(page, one.text, Span(0, 0)))
    if none and page.for_people:
        page.line(_NOTHING)


def sessions(page: Page, listed: Sequence[Session]) -> None:
    """List sessions."""
    if not listed:
        if page.for_people:
            page.line(_NOTHING)
        return
    page.table(
        (
            Column("session", style="strong"),
            Column("events", right=True),
            Column("first"),
            Column("last"),
            Column("speakers", style="name"),
            Column("wings"),
            Column("about", style="dim"),
        ),
        [
            (
                session.name,
                f"{session.events:,}",
                _when(session.first_at),
                _when(session.last_at),
                ", ".join(session.speakers),
                ", ".join(session.wings),
                session.written[0].text if session.written else ", ".join(session.keys[:_MOST_KEYS]),
            )
            for session in listed
        ],
    )


def would_go(page: Page, receipt: Receipt, some: Sequence[Event]) -> None:
    """Show what `forget` would remove: how much, and some of it."""
    if not receipt.events:
        page.line("Nothing matches; nothing would go.")
        return
    page.line(Styled(f"{_counted(receipt.events, 'event')} would be forgotten:", "warning"))
    for one in some:
        page.line("  ", *_spaced(_facts(one)), "  ", _snippet(one.text))
    if receipt.events > len(some):
        page.line(Styled(f"  and {receipt.events - len(some):,} more", "dim"))


def forgotten(page: Page, receipt: Receipt) -> None:
    """Say what `forget` removed."""
    if not receipt.events:
        page.line("Nothing matches; nothing was forgotten.")
        return
    derived = ", ".join(f"{count:,} {name}" for name, count in receipt.removed.items() if count and name != "events")
    page.line(
        Styled(f"forgot {_counted(receipt.events, 'event')}", "good"),
        f" (and {derived})" if derived else "",
        "; what is on disk was rewritten" if receipt.scrubbed else "",
    )
    for place in receipt.left:
        page.line(Styled(f"  may still hold words of them: {place}", "dim" if receipt.scrubbed else "warning"))


def stats(page: Page, counted: Stats) -> None:
    """Show what a space holds and what the file weighs."""
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
    if counted.artifacts:
        rows.append(("artifacts", _counts(counted.artifacts.items())))
    if counted.graph.get("entities"):
        shown = {name: counted.graph[name] for name in ("entities", "facts", "conflicts") if counted.graph.get(name)}
        rows.append(("graph", _counts(shown.items())))
    if counted.tags:
        more = len(counted.tags) - _MOST_TAGS
        rest = f" and {more:,} more" if more > 0 else ""
        rows.append(("tags", _counts(islice(counted.tags.items(), _MOST_TAGS)) + rest))
    rows += [
        ("model", counted.model or "none yet"),
        ("vectors", f"{counted.vectors:,}"),
        ("waiting", Styled(f"{counted.pending:,}", "warning" if counted.pending else "")),
        *([("not derived yet", Styled(_counts(counted.behind.items()), "warning"))] if counted.behind else []),
        ("size", size(counted.bytes)),
        ("schema", str(counted.schema)),
    ]
    page.fields(rows)
    if counted.bytes_by_part:
        page.gap()
        _parts(page, counted.bytes_by_part.items())


def report(page: Page, found: Report) -> None:
    """Show what `verify` found."""
    checked = ", ".join(f"{count:,} {name}" for name, count in found.checked.items())
    if found.ok:
        page.line(Styled("ok", "good"), f"  {checked}")
        return
    page.line(Styled(_counted(len(found.problems), "problem"), "bad"), f"  {checked}")
    page.table(
        (Column("where", style="strong"), Column("what"), Column("fix", style="number")),
        [(problem.where, problem.what, problem.fix) for problem in found.problems],
    )


def size(count: int) -> str:
    """Write a number of bytes as people do."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:,.0f} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def _facts(one: Event) -> tuple[Piece, ...]:
    return (Styled(_when(one.at), "dim"), Styled(one.speaker or "", "name"), Styled(one.session or "", "dim"))


def _spaced(pieces: Iterable[Piece]) -> list[Piece]:
    spaced: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) or piece.text:
            spaced += ["  ", piece] if spaced else [piece]
    return spaced


def _shown(page: Page, text: str, span: Span) -> list[Piece]:
    """Mark the match; a person gets the neighbourhood of it rather than a book."""
    start, end = 0, len(text)
    if page.for_people and end > _MOST_SHOWN:
        start = max(0, min(span.start - _BEFORE_MATCH, end - _MOST_SHOWN)) if span.end > _MOST_SHOWN else 0
        start, end = whole_until(text, start), whole_until(text, min(end, start + _MOST_SHOWN))
    match_start, match_end = min(max(span.start, start), end), min(max(span.end, start), end)
    return [
        Styled(_ELLIPSIS if start else "", "dim"),
        text[start:match_start],
        # A match that is all of the text needs no colour to be found.
        Styled(text[match_start:match_end], "match" if span != (0, len(text)) else "strong"),
        text[match_end:end],
        Styled(_ELLIPSIS if end < len(text) else "", "dim"),
    ]


def _stages(page: Page, found: Sequence[Hit]) -> None:
    # The hit that met most stages tells their order.
    by_most = sorted(found, key=lambda hit: -len(hit.scores))
    stages = list(dict.fromkeys(score.stage for hit in by_most for score in hit.scores))
    rows: list[list[Piece]] = []
    for rank, hit in enumerate(found, 1):
        said = {score.stage: score for score in hit.scores}
        rows.append(
            [str(rank), *(_said(said.get(stage)) for stage in stages), f"{hit.score:.3f}", _snippet(hit.event.text)]
        )
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


def _said(score: Score | None) -> Piece:
    if score is None:
        return Styled("-", "dim")
    return f"{score.score:.3f}" if score.rank is None else f"{score.score:.3f} #{score.rank}"


def _counts(counted: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counted)


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


def _when(moment: datetime) -> str:
    return moment.isoformat(" ", "minutes").removesuffix("+00:00")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
