"""The concept graph on a page."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.cli.page import Column, Page, Piece, Styled
from recollect.core.clock import utc_now
from recollect.core.folding import Concept, ConceptEdge, ConceptView, Folded, JournalEntry
from recollect.core.scripts import shortened

_NOTHING = Styled("Nothing found.", "dim")
_SNIPPET = 60  # characters of a description in a table


def concepts(page: Page, listed: Sequence[Concept]) -> None:
    """List concepts as a table."""
    if not listed and page.for_people:
        page.line(_NOTHING)
        return
    columns = [
        Column("concept", style="strong"),
        Column("events", right=True),
        Column("strength", right=True, style="number"),
        Column("last"),
        Column("about"),
        Column("id", style="dim"),
    ]
    rows: list[list[Piece]] = [
        [one.label, f"{one.events:,}", f"{one.strength:.1f}", f"{one.last_at:%Y-%m-%d}", _cut(one.description), one.id]
        for one in listed
    ]
    page.table(columns, rows)


def concept(page: Page, shown: ConceptView) -> None:
    """Show one concept, what it rests on, and what it is linked to."""
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
    """Say what a pass did, or would do."""
    verb = "would fold" if done.dry_run else "folded"
    page.line(f"{verb} {done.events:,} events: {len(done.entries):,} changes, {done.waiting:,} events wait")
    for debt, count in sorted(done.counts.items()):
        page.line(Styled(f"  {debt}: {count:,}", "dim"))
    for entry in done.entries if done.dry_run else ():
        page.line(*_entry(entry))


def journal(page: Page, entries: Sequence[JournalEntry]) -> None:
    """List entries of the journal."""
    if not entries and page.for_people:
        page.line(_NOTHING)
    for entry in entries:
        page.line(*_entry(entry))


def _cut(text: str) -> str:
    return shortened(text, _SNIPPET)


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
    undone = "  taken back" if entry.undone else ""
    return [
        Styled(f"{entry.at:%Y-%m-%d}", "number"),
        f"  {entry.debt.value}: {entry.action}{kind} {entry.node_id}{towards}  ",
        Styled(f"{entry.reason}{undone}", "dim"),
        "  ",
        Styled(entry.id, "dim"),
    ]
