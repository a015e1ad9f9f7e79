"""What an agent is told at its start, for people."""

from __future__ import annotations

from recollect.cli.page import Page, Styled
from recollect.core.layers import Identity, WakeUp


def wake_up(page: Page, woken: WakeUp, *, explain: bool) -> None:
    """Write a wake-up; `explain` adds why each line was chosen."""
    if woken.text:
        page.text(woken.text)
    elif page.for_people:
        page.line("Nothing is known yet. Say who the agent is with: recollect identity TEXT")
    if explain:
        for line in woken.lines:
            page.line(Styled(f"{line.citation.mark} {line.priority:.3f}  {line.citation.event_id}", "number"))
            for reason in line.reasons:
                page.line(Styled(f"     {reason.stage:10} {reason.score:+.3f}  {reason.why}", "dim"))
    if woken.text and page.for_people:
        page.gap()
        page.line(Styled(f"{woken.tokens} of {woken.budget} tokens; chosen from {woken.considered:,}", "dim"))


def identity(page: Page, known: Identity | None) -> None:
    """Show who the agent is."""
    if known is None:
        page.line("No identity is set. Set one with: recollect identity TEXT")
        return
    page.text(known.text)
    if page.for_people:
        where = f", for {known.wing} alone" if known.wing else ""
        page.line(Styled(f"set on {known.set_at:%Y-%m-%d}{where}; {known.event_id}", "dim"))
