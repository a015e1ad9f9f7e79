"""An answer without an LLM: the words that answer, quoted, or the date that they come to; or none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from recollect.core.artifacts import Artifact
from recollect.core.clock import day_in_words
from recollect.core.dates import DateMention, find_dates
from recollect.core.dates.tense import leaning
from recollect.core.rendering import indented, name
from recollect.core.spans import asks, sentences
from recollect.core.trust import Source, is_vouched, label_of, level_of, source_of
from recollect.core.values import Answer, Citation, Hit, Hits, Span
from recollect.core.words import question_terms, term_counts
from recollect.recall.analyse import Analysis, Kind, Shape
from recollect.recall.dated import told_date
from recollect.recall.meant import Named
from recollect.recall.newest import SUPPOSED, TO_COME

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
# What is asked, wished or supposed is no answer where another of the first hits states something.
_WEIGHED = 5  # first hits of which a weaker one yields
_YIELDS = 0.2  # in the unit of the score: how much better a weak one may match
_WISHES = re.compile(
    r"\b(?:should|must|want(?:s|ed)?|need(?:s|ed)?|ha(?:ve|s) to|remind|hop(?:e|es|ing) to|plan(?:s|ning)? to|going to|"
    r"(?:'d|would) like)\b",
    re.IGNORECASE,
)
_OF_A_DEED = re.compile(
    r"^\W*(?:(?:when|where|what|which|who|why|how)\b.{0,40}?)?\b(?:did|was|were|have|has|had)\b", re.IGNORECASE
)
_CLAUSE_BREAK = re.compile(r"[,;.!?\n]\s|\s(?:and|but|while|then)\s", re.IGNORECASE)
_ONLY_A_TIME = 1  # words beside its time of a piece that belongs to the one next to it: "on 4 May, Bea starts"


def abstain(hits: Hits) -> bool:
    """Tell whether the memory should say that it holds no answer."""
    return not hits or (hits.confidence is not None and hits.confidence < ENOUGH)


def grounded(question: str, asked: Analysis, hits: Sequence[Hit], stated: Iterable[Artifact]) -> bool:
    """Tell whether the first hits hold anything of what is asked, beside who is named; `stated` is what they state.

    How well they match is measured against other events: where a memory holds few, the best of them matches anything.
    """
    first = hits[:_LOOKED_AT]
    content = _content(question, first)
    if not content:
        return True
    slots = _slots(stated)
    held = [one.event for one in first if content & term_counts(one.event.text, slots.get(one.event.id, "")).keys()]
    if asked.shape is Shape.NUMBER and _AMOUNT.search(question):
        return any(_VALUE.search(event.text) for event in held)
    return bool(held)


def _content(question: str, hits: Iterable[Hit]) -> set[int]:
    """List the terms of what is asked, without those that ask and without who speaks."""
    names = term_counts(*(hit.event.speaker or "" for hit in hits))
    return set(question_terms(question).keys() - names.keys() - term_counts(_ASKING).keys())


def _slots(stated: Iterable[Artifact]) -> dict[str, str]:
    """Name what events state: "lives in" is what a move states, though nobody says "live"."""
    return {one.event_id: one.slot.attribute.replace("_", " ") for one in stated if one.slot}


def quoted(question: str, asked: Analysis, hits: Hits, stated: Iterable[Artifact] = ()) -> Answer:
    """Answer with the best quote, or with several where one can't be all; `stated` tells which days lie ahead.

    Without any where nothing was found but the question itself, asked by somebody.
    """
    stated = list(stated)
    ranked = _trusted_first(question, _stating_first(question, hits), _slots(stated))
    if not ranked:
        return Answer(question=question, confidence=hits.confidence)
    ahead = {
        one.event_id for one in stated if one.date is not None and one.valid_from and one.date.start > one.valid_from
    }
    many = asked.kind in (Kind.LISTING, Kind.COUNTING, Kind.COMPARING)
    chosen = [(hit, sentence_of(hit, question, asked)) for hit in ranked[: _SEVERAL if many else 1]]
    parts = [_said(hit, span, question, asked, f"[{number}]", ahead) for number, (hit, span) in enumerate(chosen, 1)]
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


def _stating_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Put what states something before a first hit that asks, wishes or supposes it and matches about as well.

    Nothing is left where the first one only asks, and nobody answers.
    """
    terms = question_terms(question).keys()
    deed = _OF_A_DEED.search(question) is not None
    weighed = [(hit, _told(hit, terms)) for hit in hits[:_WEIGHED] if hits[0].score - hit.score <= _YIELDS]
    best = weighed[0][1]
    if not best or not all(_is_weak(words, deed=deed) for words in best):
        return list(hits)
    only_asks = all(map(asks, best))
    reply = _reply(hits[0], hits) if only_asks else None
    stating = [hit for hit, told in weighed if not all(_is_weak(words, deed=deed) for words in told)]
    supposing = [hit for hit, told in weighed if not all(map(asks, told))]
    if reply is None and not stating and not supposing:
        return [] if all(map(asks, _sentences(hits[0]))) else list(hits)
    first = reply or next(iter(stating or supposing))
    return [first, *(hit for hit in hits if hit is not first)]


def _trusted_first(question: str, hits: list[Hit], slots: Mapping[str, str]) -> list[Hit]:
    """Put a hit of a more trusted source before a first one that matches little better.

    It must say something of what is asked. A person's own words about themselves need no more than that; anybody
    else's must hold all that the first one holds of the question.
    """
    if not hits or is_vouched(source_of(hits[0].event)):
        return hits
    content = _content(question, [hit for hit in hits[:_WEIGHED] if is_vouched(source_of(hit.event))])
    named = Named(question)

    def held(hit: Hit) -> set[int]:
        return content & term_counts(hit.event.text, slots.get(hit.event.id, "")).keys()

    def goes_before(hit: Hit) -> bool:
        if level_of(hit.event) <= level_of(hits[0].event) or hits[0].score - hit.score > _YIELDS:
            return False
        if not held(hit) or all(map(asks, _sentences(hit))):
            return False
        own = named(hit.event.speaker) or (named.asker and source_of(hit.event) == Source.USER)
        return own or held(hit) >= held(hits[0])

    first = next((hit for hit in hits[1:_WEIGHED] if goes_before(hit)), None)
    return hits if first is None else [first, *(hit for hit in hits if hit is not first)]


def _told(hit: Hit, terms: AbstractSet[int]) -> list[str]:
    """List the sentences of a hit that hold something of the question."""
    return [words for words in _sentences(hit) if terms & term_counts(words).keys()]


def _sentences(hit: Hit) -> list[str]:
    text = hit.event.text
    return [text[span.start : span.end].rstrip() for span in sentences(text)]


def _is_weak(words: str, *, deed: bool) -> bool:
    """Tell whether a sentence asks or supposes; or, where a deed is asked for, only wishes."""
    return SUPPOSED.search(words) is not None or (deed and _WISHES.search(words) is not None)


def _reply(asking: Hit, hits: Sequence[Hit]) -> Hit | None:
    """Find what somebody else said right after a question."""
    for hit in hits:
        same = hit.event.session is not None and hit.event.session == asking.event.session
        if same and hit.seq == asking.seq + 1 and hit.event.speaker != asking.event.speaker:
            return None if asks(hit.event.text.rstrip()) else hit
    return None


def _said(hit: Hit, span: Span, question: str, asked: Analysis, mark: str, ahead: Collection[str]) -> str:
    words = hit.event.text[span.start : span.end]
    told = (name(hit.event.speaker or ""), label_of(hit.event), day_in_words(hit.event.at))
    quote = f"“{indented(words)}” ({', '.join(part for part in told if part)}) {mark}"
    date = _date(hit, words, question, hit.event.id in ahead) if asked.shape is Shape.DATE else None
    return quote if date is None else f"{date}: {quote}"


def _date(hit: Hit, words: str, question: str, ahead: bool) -> str | None:
    """Work out the date that a quote tells of what is asked; None where it tells none.

    A deed without a date was done, at the latest, when it was told.
    """
    at = hit.event.at
    to_come = TO_COME.search(question) is not None
    mentions = find_dates(words, at, past=False if ahead else None)
    sided = {one.span: one for one in find_dates(words, at, past=False if to_come else None, nearest=True)}
    terms = question_terms(question).keys()
    mentions.sort(key=lambda one: -len(terms & term_counts(_clause(words, one)).keys()))
    for mention in mentions:
        # Where the words don't say on which side it lies, a question of what is to come does; else it is the nearer.
        surer = replace(sided.get(mention.span, mention), guessed=False) if mention.guessed else mention
        told = told_date(surer, at)
        if told is not None:
            return told
    planned = leaning(words, len(words), len(words)) is False or _WISHES.search(words) is not None
    return None if to_come or ahead or planned or SUPPOSED.search(words.rstrip()) else day_in_words(at)


def _clause(words: str, mention: DateMention) -> str:
    """Cut out the clause that a time stands in; one that holds nothing else belongs to the next."""
    breaks = [found.span() for found in _CLAUSE_BREAK.finditer(words)]
    start = max((end for _, end in breaks if end <= mention.span.start), default=0)
    ends = [begin for begin, _ in breaks if begin >= mention.span.end]
    beside = words[start : mention.span.start] + words[mention.span.end : ends[0] if ends else len(words)]
    if len(beside.split()) <= _ONLY_A_TIME and ends:
        ends = ends[1:]
    return words[start : ends[0] if ends else len(words)]
