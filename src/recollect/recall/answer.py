"""An answer without an LLM: the words that answer, quoted, or the date that they come to; or none."""

from __future__ import annotations

from recollect.core.clock import day_in_words
from recollect.core.dates import find_dates
from recollect.core.spans import sentences
from recollect.core.values import Answer, Citation, Hit, Hits, Span
from recollect.core.words import question_terms
from recollect.recall.analyse import Analysis, Kind, Shape
from recollect.recall.dated import told_date

# Under this confidence the memory says that it holds no answer. On development conversations it is where as many
# questions without an answer are refused as questions with one are lost, in shares of each.
ENOUGH = 0.5
_SEVERAL = 3  # quotes of an answer that lists, counts or compares
_SHORT = 240  # characters of a quote


def abstain(hits: Hits) -> bool:
    """Tell whether the memory should say that it holds no answer."""
    return not hits or (hits.confidence is not None and hits.confidence < ENOUGH)


def quoted(question: str, asked: Analysis, hits: Hits) -> Answer:
    """Answer with the best quote, or with several where one can't be all."""
    many = asked.kind in (Kind.LISTING, Kind.COUNTING, Kind.COMPARING)
    chosen = [(hit, sentence_of(hit, question, asked)) for hit in hits[: _SEVERAL if many else 1]]
    parts = [_said(hit, span, asked, f"[{number}]") for number, (hit, span) in enumerate(chosen, 1)]
    return Answer(
        question=question,
        text="\n".join(parts),
        citations=tuple(
            Citation(mark=f"[{number}]", event_id=hit.event.id, span=span, key=hit.event.key)
            for number, (hit, span) in enumerate(chosen, 1)
        ),
        quotes=tuple(hit.event.text[span.start : span.end] for hit, span in chosen),
        confidence=hits.confidence,
    )


def sentence_of(hit: Hit, question: str, asked: Analysis) -> Span:
    """Choose the sentence of a hit that holds most of the question, and a date where one is asked for."""
    text = hit.event.text
    if len(text) <= _SHORT:
        return Span(0, len(text))
    terms = set(question_terms(question))
    spans = sentences(text, hit.span) or [hit.span]

    def worth(span: Span) -> tuple[bool, int]:
        words = text[span.start : span.end]
        dated = asked.shape is Shape.DATE and bool(find_dates(words, hit.event.at))
        return dated, len(terms & set(question_terms(words)))

    return max(spans, key=worth)


def _said(hit: Hit, span: Span, asked: Analysis, mark: str) -> str:
    words = hit.event.text[span.start : span.end]
    who = f"{hit.event.speaker}, " if hit.event.speaker else ""
    quote = f"“{words}” ({who}{day_in_words(hit.event.at)}) {mark}"
    return f"{_date(hit, words)}: {quote}" if asked.shape is Shape.DATE else quote


def _date(hit: Hit, words: str) -> str:
    """Work out the date that a quote tells; what names none happened, at the latest, when it was said."""
    for mention in find_dates(words, hit.event.at):
        told = told_date(mention, hit.event.at)
        if told is not None:
            return told
    return day_in_words(hit.event.at)
