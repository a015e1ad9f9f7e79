"""An answer without an LLM: the words that answer, quoted, or the date that they come to; or none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from recollect.core.artifacts import Artifact
from recollect.core.clock import day_in_words
from recollect.core.dates import find_dates
from recollect.core.spans import sentences
from recollect.core.values import Answer, Citation, Hit, Hits, Span
from recollect.core.words import question_terms, term_counts
from recollect.recall.analyse import Analysis, Kind, Shape
from recollect.recall.dated import told_date

# Under this confidence the memory says that it holds no answer. On development conversations it is where as many
# questions without an answer are refused as questions with one are lost, in shares of each.
ENOUGH = 0.5
_SEVERAL = 3  # quotes of an answer that lists, counts or compares
_SHORT = 240  # characters of a quote
_LOOKED_AT = 3  # hits of which one must hold something of the question
# Words that ask for something and are not part of it.
_ASKING = (
    "name named called kind type sort thing things person people place time day date year month number many much long "
    "often old tell happened happen say said talk mention exactly currently color colour"
)
_AMOUNT = re.compile(r"\bhow (?:much|old|tall|far|heavy|big|expensive)\b", re.IGNORECASE)
_VALUE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|hundred|thousand|million|half|dozen|free)\b",
    re.IGNORECASE,
)


def abstain(hits: Hits) -> bool:
    """Tell whether the memory should say that it holds no answer."""
    return not hits or (hits.confidence is not None and hits.confidence < ENOUGH)


def grounded(question: str, asked: Analysis, hits: Sequence[Hit], stated: Iterable[Artifact]) -> bool:
    """Tell whether the first hits hold anything of what is asked, beside who is named; `stated` is what they state.

    How well they match is measured against other events: where a memory holds few, the best of them matches anything.
    """
    first = hits[:_LOOKED_AT]
    names = term_counts(*(hit.event.speaker or "" for hit in first))
    content = question_terms(question).keys() - names.keys() - term_counts(_ASKING).keys()
    if not content:
        return True
    # "Lives in" is what a move states, though nobody says "live".
    slots = {one.event_id: one.slot.attribute.replace("_", " ") for one in stated if one.slot}
    held = [one.event for one in first if content & term_counts(one.event.text, slots.get(one.event.id, "")).keys()]
    if asked.shape is Shape.NUMBER and _AMOUNT.search(question):
        return any(_VALUE.search(event.text) for event in held)
    return bool(held)


def quoted(question: str, asked: Analysis, hits: Hits, stated: Iterable[Artifact] = ()) -> Answer:
    """Answer with the best quote, or with several where one can't be all; `stated` tells which days lie ahead."""
    ahead = {
        one.event_id for one in stated if one.date is not None and one.valid_from and one.date.start > one.valid_from
    }
    many = asked.kind in (Kind.LISTING, Kind.COUNTING, Kind.COMPARING)
    chosen = [(hit, sentence_of(hit, question, asked)) for hit in hits[: _SEVERAL if many else 1]]
    parts = [_said(hit, span, asked, f"[{number}]", ahead) for number, (hit, span) in enumerate(chosen, 1)]
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


def _said(hit: Hit, span: Span, asked: Analysis, mark: str, ahead: Collection[str]) -> str:
    words = hit.event.text[span.start : span.end]
    who = f"{hit.event.speaker}, " if hit.event.speaker else ""
    quote = f"“{words}” ({who}{day_in_words(hit.event.at)}) {mark}"
    return f"{_date(hit, words, hit.event.id in ahead)}: {quote}" if asked.shape is Shape.DATE else quote


def _date(hit: Hit, words: str, ahead: bool) -> str:
    """Work out the date that a quote tells; what names none happened, at the latest, when it was said."""
    for mention in find_dates(words, hit.event.at, past=False if ahead else None):
        told = told_date(mention, hit.event.at)
        if told is not None:
            return told
    return day_in_words(hit.event.at)
