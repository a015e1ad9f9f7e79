"""The demo: remember ten months of a person's work and life, then ask about them. `make demo` runs it.

The second run finds every event already known, so that only the questions take time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from everyword import Hit, Memory

SURE = 0.8  # the reader is mostly right from here on; `confidence` says it of each statement
HERE = Path(__file__).parent
HISTORY = HERE / "history.jsonl"
MEMORY = HERE.parent / ".demo" / "memory.db"
SHOWN = 3  # hits a question
NOW = "2026-11-01T12:00:00+00:00"

QUESTIONS = [
    "Why did the team drop Skyloom?",
    "Can I put coriander into Ana's soup?",
    "Did Tomáš ever write the guide for people on night duty?",
    "Which injury kept Ana from climbing in Spain in spring?",
    "What is Ana's new phone number?",
]

console = Console(width=None if sys.stdout.isatty() else 110)


def main() -> None:
    """Remember, ask, and show what it took."""
    MEMORY.parent.mkdir(exist_ok=True)
    with Memory.open(MEMORY) as memory:
        remember(memory)
        for question in QUESTIONS:
            ask(memory, question)
        as_it_was(memory)
        what_was_said(memory)
        hand_over(memory)
        weigh(memory)


def remember(memory: Memory) -> None:
    """Read the sample history into the memory, with a bar where there is a terminal."""
    columns = (TextColumn("remembering"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    begun = time.perf_counter()
    with Progress(*columns, console=console, disable=not sys.stdout.isatty(), transient=True) as bars:
        bar = bars.add_task("remembering", total=None)
        done = memory.import_events(HISTORY, progress=lambda _, at, total: bars.update(bar, completed=at, total=total))
    took = time.perf_counter() - begun
    console.print(
        f"[bold]Remembered[/] {done.added} events, {done.known} were known already, in {took:.1f} s", highlight=False
    )


def ask(memory: Memory, question: str) -> None:
    """Ask one question and show the best hits with their citations."""
    begun = time.perf_counter()
    hits = memory.recall(question, k=SHOWN, now=NOW)
    took = (time.perf_counter() - begun) * 1e3
    console.print(f"\n[bold cyan]?[/] [bold]{question}[/]  [dim]{took:.0f} ms[/]", highlight=False)
    for hit in hits:
        console.print(f"  {cited(hit)}", highlight=False)


def cited(hit: Hit) -> str:
    """Write a hit as a line: when, who, the words that match, and where they stand."""
    event = hit.event
    return (
        f"[green]{event.at:%d %b %Y}[/] [magenta]{event.speaker}[/] {escape(hit.quote)} "
        f"[dim]({event.key} in {event.session}, {hit.score:.2f})[/]"
    )


def as_it_was(memory: Memory) -> None:
    """Ask the same thing of two times."""
    question = "Where does Ana live?"
    console.print(f"\n[bold cyan]?[/] [bold]{question}[/]  [dim]said before March, and since July[/]", highlight=False)
    for limits in ({"until": "2026-03-01"}, {"since": "2026-07-01"}):
        for hit in memory.recall(question, k=1, **limits):  # type: ignore[arg-type]
            console.print(f"  {cited(hit)}", highlight=False)


def what_was_said(memory: Memory) -> None:
    """Show what was decided and is to be done, with the words that say so."""
    console.print("\n[bold]Decided, and still to be done[/], each with its quote:", highlight=False)
    for kind in ("decision", "task"):
        for one in [one for one in memory.statements(kind=kind) if one.confidence >= SURE][-3:]:
            since = f"{one.valid_from:%d %b %Y}" if one.valid_from else ""
            console.print(f"  [green]{since}[/] [magenta]{kind}[/] “{escape(one.quote)}”", highlight=False)


def hand_over(memory: Memory) -> None:
    """Show what an agent would be given for its prompt."""
    context = memory.context("What should I know before I cook for Ana?", budget=220, now=NOW)
    console.print(f"\n[bold]For an agent's prompt[/], {context.tokens} of {context.budget} tokens:", highlight=False)
    console.print(f"[dim]{escape(context.text)}[/]", highlight=False)


def weigh(memory: Memory) -> None:
    """Show what the memory holds and takes."""
    stats = memory.stats()
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("events", f"{stats.events:,} in {stats.sessions} sessions, by {stats.speakers} speakers")
    table.add_row("file", f"{stats.bytes / 1e6:.1f} MB, {memory.location}")
    table.add_row("statements", ", ".join(f"{count} {kind}" for kind, count in stats.statements.items()))
    table.add_row("model", str(stats.model))
    table.add_row("verified", "every index agrees with the log" if memory.admin.verify().ok else "[red]problems[/]")
    console.print()
    console.print(table)


if __name__ == "__main__":
    main()
