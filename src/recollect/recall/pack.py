"""Packing: hits -> prompt-ready lines within a token budget, counted exactly.

Each line is `[n] date speaker: words`, verbatim. The best hits are taken while they fit: whole where possible, else the
matching sentence. Lines of one session stand together, oldest first; the session with the best hit stands first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recollect.core.values import Citation, Context, Hit, Span
from recollect.inference.protocol import Tokenizer

_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class _Line:
    hit: Hit
    span: Span
    rank: int

    def written(self, mark: str) -> str:
        event = self.hit.event
        who = f" {event.speaker}" if event.speaker else ""
        words = event.text[self.span.start : self.span.end].replace("\n", "\n    ")
        before = _ELLIPSIS if event.text[: self.span.start].strip() else ""
        after = _ELLIPSIS if event.text[self.span.end :].strip() else ""
        return f"{mark} {event.at.date().isoformat()}{who}: {before}{words}{after}"


def pack(hits: Sequence[Hit], budget: int, tokenizer: Tokenizer) -> Context:
    """Choose and lay out what fits."""
    chosen = _choose(hits, budget, tokenizer)
    while True:
        text, citations = _laid_out(chosen)
        tokens = tokenizer.count(text) if text else 0
        if tokens <= budget:
            return Context(
                text=text, tokens=tokens, budget=budget, tokenizer=tokenizer.name, citations=tuple(citations)
            )
        # Some tokenizers count a text for more than its lines: the least relevant line goes.
        chosen.remove(max(chosen, key=lambda line: line.rank))


def _choose(hits: Sequence[Hit], budget: int, tokenizer: Tokenizer) -> list[_Line]:
    chosen: list[_Line] = []
    left = budget
    for rank, hit in enumerate(hits):
        for span in _ways_to_quote(hit):
            line = _Line(hit, span, rank)
            # Counted with the widest mark that it may get, and the line break behind it.
            cost = tokenizer.count(line.written(f"[{len(hits)}]") + "\n\n")
            if cost <= left:
                chosen.append(line)
                left -= cost
                break
    return chosen


def _ways_to_quote(hit: Hit) -> Iterable[Span]:
    whole = Span(0, len(hit.event.text))
    return (whole,) if hit.span == whole else (whole, hit.span)


def _laid_out(lines: Sequence[_Line]) -> tuple[str, list[Citation]]:
    by_topic: dict[str | None, list[_Line]] = {}
    for line in sorted(lines, key=lambda line: line.rank):
        by_topic.setdefault(line.hit.event.session, []).append(line)
    written: list[str] = []
    citations: list[Citation] = []
    for topic in by_topic.values():
        block: list[str] = []
        for line in sorted(topic, key=lambda line: (line.hit.event.at, line.rank)):
            mark = f"[{len(citations) + 1}]"
            block.append(line.written(mark))
            event = line.hit.event
            citations.append(Citation(mark=mark, event_id=event.id, span=line.span, key=event.key))
        written.append("\n".join(block))
    return "\n\n".join(written), citations
