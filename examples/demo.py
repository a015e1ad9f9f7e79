"""The demo: remember ten months of a person's work and life, then ask about them. `make demo` runs it.

The second run finds every event already known, so that only the questions take time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

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

BOLD, DIM, GREEN, PURPLE, BLUE = 1, 2, 32, 35, 36  # codes of a terminal


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
    """Read the sample history into the memory, with a count where there is a terminal."""

    def report(_: str, done: int, total: int) -> None:
        if sys.stdout.isatty():
            print(f"\rremembering {done} of {total}", end="", flush=True)

    begun = time.perf_counter()
    # Encoded before the first question, which would be answered by words alone otherwise.
    done = memory.import_events(HISTORY, wait=True, progress=report)
    took = time.perf_counter() - begun
    start = "\r" if sys.stdout.isatty() else ""
    print(f"{start}{ink('Remembered', BOLD)} {done.added} events, {done.known} were known already, in {took:.1f} s")


def ask(memory: Memory, question: str) -> None:
    """Ask one question and show the best hits with their citations."""
    begun = time.perf_counter()
    hits = memory.recall(question, k=SHOWN, now=NOW)
    took = (time.perf_counter() - begun) * 1e3
    print(f"\n{ink('?', BLUE)} {ink(question, BOLD)}  {ink(f'{took:.0f} ms', DIM)}")
    for hit in hits:
        print(f"  {cited(hit)}")


def cited(hit: Hit) -> str:
    """Write a hit as a line: when, who, the words that match, and where they stand."""
    event = hit.event
    return (
        f"{ink(f'{event.at:%d %b %Y}', GREEN)} {ink(str(event.speaker), PURPLE)} {hit.quote} "
        f"{ink(f'({event.key} in {event.session}, {hit.score:.2f})', DIM)}"
    )


def as_it_was(memory: Memory) -> None:
    """Ask the same thing of two times."""
    question = "Where does Ana live?"
    print(f"\n{ink('?', BLUE)} {ink(question, BOLD)}  {ink('said before March, and since July', DIM)}")
    for limits in ({"until": "2026-03-01"}, {"since": "2026-07-01"}):
        for hit in memory.recall(question, k=1, **limits):  # type: ignore[arg-type]
            print(f"  {cited(hit)}")


def what_was_said(memory: Memory) -> None:
    """Show what was decided and is to be done, with the words that say so."""
    print(f"\n{ink('Decided, and still to be done', BOLD)}, each with its quote:")
    for kind in ("decision", "task"):
        for one in [one for one in memory.statements(kind=kind) if one.confidence >= SURE][-3:]:
            since = f"{one.valid_from:%d %b %Y}" if one.valid_from else ""
            print(f"  {ink(since, GREEN)} {ink(kind, PURPLE)} “{one.quote}”")


def hand_over(memory: Memory) -> None:
    """Show what an agent would be given for its prompt."""
    context = memory.context("What should I know before I cook for Ana?", budget=220, now=NOW)
    heading = ink("For an agent's prompt", BOLD)
    print(f"\n{heading}, {context.tokens} of {context.budget} tokens:")
    print(ink(context.text, DIM))


def weigh(memory: Memory) -> None:
    """Show what the memory holds and takes."""
    stats = memory.stats()
    rows = {
        "events": f"{stats.events:,} in {stats.sessions} sessions, by {stats.speakers} speakers",
        "file": f"{stats.bytes / 1e6:.1f} MB, {memory.location}",
        "statements": ", ".join(f"{count} {kind}" for kind, count in stats.statements.items()),
        "model": str(stats.model),
        "verified": "every index agrees with the log" if memory.admin.verify().ok else "problems",
    }
    print()
    for name, told in rows.items():
        print(f"{name:<12}{told}")


def ink(text: str, code: int) -> str:
    """Colour a text where there is a terminal."""
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    main()
