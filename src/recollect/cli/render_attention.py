"""Intents, beliefs, the window and the palace on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.cli.page import Column, Page, Piece, Styled
from recollect.core.attention import LIVE, Belief, Intent, Palace, PalaceWing, Room, Tier, Window
from recollect.core.clock import day_in_words
from recollect.core.feed import Waiting
from recollect.core.folding import Concept
from recollect.core.scripts import shortened
from recollect.core.values import Event

_NOTHING = Styled("Nothing found.", "dim")
_LONGEST_DRAWER = 100  # characters of an event in the palace


def intents(page: Page, listed: Sequence[Intent]) -> None:
    """List intents, each with the words that it rests on."""
    if not listed and page.for_people:
        page.line(_NOTHING)
    for one in listed:
        page.item("", _heading(one), _why(one))


def beliefs(page: Page, listed: Sequence[Belief]) -> None:
    """Show who believes what, in a table."""
    if not listed:
        if page.for_people:
            page.line(_NOTHING)
        return
    page.table(
        [Column("who", style="name"), Column("thing"), Column("is"), Column("since"), Column("by"), Column("words")],
        [
            [
                _holder(one),
                one.thing,
                Styled(one.value, "good" if one.current else "warning"),
                f"{one.since:%Y-%m-%d %H:%M}",
                one.by.value + ("" if one.current else ", out of date"),
                Styled(f"“{one.ground.quote}”", "dim"),
            ]
            for one in listed
        ],
    )


def window(page: Page, shown: Window) -> None:
    """Show the window tier by tier; a program or a model gets its text, fenced."""
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
        page.line(_NOTHING)
    page.gap()
    page.line(Styled(f"{shown.tokens:,} of {shown.budget:,} tokens ({shown.tokenizer})", "dim"))


def palace(page: Page, laid_out: Palace) -> None:
    """Show the palace as a tree."""
    if not laid_out.wings and page.for_people:
        page.line(_NOTHING)
    for wing in laid_out.wings:
        _wing(page, wing)
    for tunnel in laid_out.tunnels:
        joined = " = ".join(name or "(no wing)" for name in tunnel.wings)
        page.line(Styled("tunnel  ", "dim"), Styled(tunnel.label, "strong"), f"  {joined}")


def news(page: Page, kind: str, one: Any) -> None:
    """Show one new thing."""
    if isinstance(one, Intent):
        page.item("", [Styled("new intent", "good"), *_heading(one)], _why(one))
    else:
        page.line(Styled(f"new {kind}", "good"), "  ", Styled(_named(one), "strong"))


def _named(one: Event | Concept | Waiting) -> str:
    if isinstance(one, Event):
        return " ".join(f"{one.speaker}: {one.text}".split() if one.speaker else one.text.split())
    if isinstance(one, Waiting):
        return f"{one.kind} of {one.event_id or 'an event'}"
    return one.label


def _heading(intent: Intent) -> list[Piece]:
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
    lines = [f"“{ground.quote}”{_said_by(ground.speaker)}, {day_in_words(ground.at)}" for ground in intent.grounds]
    if intent.settled_by is not None:
        lines.append(f"settled by “{intent.settled_by.quote}”, {day_in_words(intent.settled_by.at)}")
    if intent.topics:
        lines.append(f"among {', '.join(intent.topics)}")
    return [Styled("\n".join(lines), "dim")]


def _said_by(speaker: str | None) -> str:
    return f" ({speaker})" if speaker else ""


def _holder(belief: Belief) -> Piece:
    if belief.holder is None:
        return Styled("(how it is)", "strong")
    return f"{belief.holder} of {belief.of}" if belief.of else belief.holder


def _wing(page: Page, wing: PalaceWing) -> None:
    page.line(Styled(wing.name or "(no wing)", "name"), Styled(f"  {wing.events:,} events", "dim"))
    for room in wing.rooms:
        _room(page, room)


def _room(page: Page, room: Room) -> None:
    page.line("  ", Styled(room.label, "strong"), Styled(f"  {room.events:,} events", "dim"))
    for hall in room.halls:
        page.line("    ", hall.kind or "(no statement)")
        for closet in hall.closets:
            page.line("      ", Styled(closet.session or "(no session)", "number"), f"  {closet.summary}")
            for drawer in closet.drawers:
                words = " ".join(drawer.text.split())
                cut = shortened(words, _LONGEST_DRAWER)
                page.line(Styled(f"        {drawer.at:%Y-%m-%d} {drawer.event_id}  ", "dim"), cut)
