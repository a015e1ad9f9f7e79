"""The temporal graph on a page: entities, facts with their times, merges and splits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.cli.page import Column, Page, Piece, Styled
from recollect.core.graph import Entity, EntityEdit, Fact

_NOTHING = Styled("Nothing found.", "dim")
_MOST_QUOTES = 2  # of one fact; --json has all
_MOST_ALIASES = 6


def entities(page: Page, listed: Sequence[Entity]) -> None:
    """List entities."""
    if not listed:
        return _nothing(page)
    columns = (
        Column("name", style="name"),
        Column("type"),
        Column("events", right=True, style="number"),
        Column("last"),
        Column("also", style="dim"),
    )
    page.table(
        columns,
        [
            (one.name, one.type.value, f"{one.events:,}", _day(one.last_at), ", ".join(one.aliases[:_MOST_ALIASES]))
            for one in listed
        ],
    )
    return None


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


def facts(page: Page, listed: Sequence[Fact]) -> None:
    """List facts, each with its window of time and a quote."""
    if not listed:
        return _nothing(page)
    for one in listed:
        page.item("", _heading(one), _quotes(one))
    return None


def edits(page: Page, listed: Sequence[EntityEdit]) -> None:
    """List merges and splits."""
    if not listed:
        return _nothing(page)
    columns = (Column("number", right=True, style="number"), Column("when"), Column("kind"), Column("what"), Column(""))
    page.table(
        columns,
        [(str(one.number), _day(one.at), one.kind, one.what, "undone" if one.undone else "") for one in listed],
    )
    return None


def _heading(fact: Fact) -> list[Piece]:
    return [
        Styled(fact.subject_name, "name"),
        fact.relation.replace("_", " "),
        Styled(fact.object_name, "strong"),
        Styled(window(fact), "number"),
        Styled("conflicts" if fact.conflicts else "", "bad"),
    ]


def window(fact: Fact) -> str:
    """Write when a fact is true."""
    if fact.valid_from is not None and fact.valid_from == fact.valid_to:
        return _day(fact.valid_from)
    since = f"since {_day(fact.valid_from)}" if fact.valid_from else ""
    until = f"until {_day(fact.valid_to)}" if fact.valid_to else ""
    return " ".join(part for part in (since, until) if part)


def _quotes(fact: Fact) -> list[Piece]:
    lines = [f"{_day(source.said_at)} “{source.quote}”" for source in fact.sources[:_MOST_QUOTES]]
    more = len(fact.sources) - len(lines)
    if more > 0:
        lines.append(f"and {more} more")
    return [Styled("\n".join(lines), "dim")]


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _nothing(page: Page) -> None:
    if page.for_people:
        page.line(_NOTHING)
