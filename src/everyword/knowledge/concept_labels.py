"""Name a concept by a phrase that its events share and other events lack, and describe it by its most central quote.

Wings share a concept, but none sees the words of another: `reworded` names it by the events of one wing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import asdict, replace

from everyword.knowledge.reading import said_in
from everyword.storage.protocol import Reader
from everyword.text.rendering import one_line
from everyword.text.terms import FUNCTION_WORDS, STOPWORDS, finder, shortened, stem
from everyword.types.concepts import Concept, strength_of

LONGEST_LABEL = 60  # characters
LONGEST_DESCRIPTION = 160
MOST_READ = 2_000  # characters of an event
MOST_TERMS = 24  # of an event
MOST_KEYS = 5
_LONGEST_PHRASE = 3  # words
_SHORTEST, _LONGEST = 3, 40  # letters of a word
_LEAST_SHARE = 0.4  # of a concept's events that have the term it is named by
_LEAST_LIFT = 2.0  # how much more often they have it than other events
_LEAST_NAMED = 0.6  # of the events with the term in which it stands in a name or a value
_LEAST_COVERED = 0.75  # of a concept's events that have the term or are very like the others
_PHRASE_SHARE = 0.5  # of the events with a term that have the phrase which is shown for it
# Stems in a fifth or more of 981 conversations of the training text: they name no theme.
_IN_ALL_TALK = frozenset(
    """
    alway ask back call chang come day even everi first give good hand hello help hour keep know last leav left
    like look love make mani may minut month morn move much must name need never new next night nobodi old one
    pay peopl play put read right said say see sinc sorri start stay still take talk thank thing think three
    time today told tri two use want way week well work write year yes
    """.split()
)
# What follows one of these names a thing, most of the time.
_DETERMINED = re.compile(
    r"\b(?:the|an?|my|our|your|his|her|its|their|this|that|these|those|some|no|every|each"
    r"|of|in|on|at|for|with|about|from|into|during)\s+"
    r"([^\W\d_][\w'’-]*(?: \w[\w'’-]*)?)",
    re.IGNORECASE,
)
_words = finder("LETTERS(?:['’-]LETTERS)*")
_POSSESSIVE = re.compile(r"['’]s$")


class Label(Struct, frozen=True, kw_only=True):
    """The words of a concept."""

    label: str = ""  # empty where no phrase is sure: such a concept is not shown until it has one
    description: str = ""  # the most central quote
    keys: tuple[str, ...] = ()  # further phrases, best first


def terms_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Give the content words of texts as stems, each once."""
    found: dict[str, None] = {}
    for text in texts:
        text = text[:MOST_READ]
        found |= dict.fromkeys(term for match in _words(text).finditer(text) if (term := _term(match[0])))
    return tuple(found)[:MOST_TERMS]


def label_of(
    said: Sequence[Sequence[str]],
    things: Sequence[Sequence[str]],
    central: str,
    background: tuple[Mapping[str, int], int] = ({}, 0),
    *,
    near: Sequence[bool] = (),
    is_taken: Callable[[str], bool] = lambda _: False,
) -> Label:
    """Name what events are about.

    said: the quotes of each event. things: the names and values in it, which are more often what it is about.
    central: the quote that is most like all of them. background: the terms of other events, counted, and their number.
    near: whether each is so like the others that it need not say the label.
    """
    named = [
        terms_of([*one, *(word for quote in quotes for word in _DETERMINED.findall(quote[:MOST_READ]))])
        for one, quotes in zip(things, said, strict=True)
    ]
    valued = Counter(term for one in things for term in terms_of(one))
    held = [terms_of(quotes) for quotes in said]
    covered = [terms for terms, one in zip(held, near or [True] * len(held), strict=True) if not one]
    scores = {
        term: score
        for term, score in _scores(held, named, valued, *background).items()
        if sum(term not in terms for terms in covered) <= (1 - _LEAST_COVERED) * len(held)
    }
    written, words = _phrases(things), _forms(said)
    shown = [_shown(term, written, words) for term in sorted(scores, key=lambda term: (-scores[term], term))]
    free = [phrase[:LONGEST_LABEL] for phrase in dict.fromkeys(shown) if not is_taken(phrase[:LONGEST_LABEL])]
    description = shortened(one_line(central), LONGEST_DESCRIPTION)
    return Label(label=free[0] if free else "", description=description, keys=tuple(free[1 : MOST_KEYS + 1]))


def _scores(
    held: Sequence[Sequence[str]],
    things: Sequence[Sequence[str]],
    valued: Mapping[str, int],
    background: Mapping[str, int],
    others: int,
) -> dict[str, float]:
    """Weigh the terms that enough of the events have, mostly as the name of a thing, and few others."""
    named = Counter(term for terms in things for term in terms)
    scores: dict[str, float] = {}
    for term, count in Counter(term for terms in held for term in terms).items():
        share, usual = count / len(held), (background.get(term, 0) + 0.5) / (others + 1)
        if term in _IN_ALL_TALK:
            continue
        if count > 1 and share >= _LEAST_SHARE and named[term] >= _LEAST_NAMED * count and share >= _LEAST_LIFT * usual:
            scores[term] = round(share * math.log(share / usual) * (named[term] + valued[term]) / count, 6)
    return scores


def _phrases(things: Sequence[Sequence[str]]) -> dict[str, Counter[tuple[int, str]]]:
    """Count in how many events each term is written in which way: alone, or in a phrase of up to three words."""
    found: dict[str, Counter[tuple[int, str]]] = {}
    for several in things:
        written: set[tuple[str, int, str]] = set()
        for text in several:
            run: list[tuple[str, str]] = []  # content words that follow one another
            end = -1
            for match in _words(text).finditer(text):
                term, word = _term(match[0]), _POSSESSIVE.sub("", match[0])
                if not term:
                    run = []
                    continue
                run = [*run, (term, word)][-_LONGEST_PHRASE:] if text[end : match.start()] == " " else [(term, word)]
                end = match.end()
                for start in range(len(run)):
                    phrase = " ".join(word for _, word in run[start:])
                    written.update((one, len(run) - start, phrase) for one, _ in run[start:])
        for term, length, phrase in written:
            found.setdefault(term, Counter())[(length, phrase)] += 1
    return found


def _shown(term: str, written: Mapping[str, Counter[tuple[int, str]]], words: Mapping[str, str]) -> str:
    """Choose the longest phrase that a term mostly stands in, else the word as it is written."""
    counts = written.get(term, Counter())
    alone = sum(count for (length, _), count in counts.items() if length == 1)
    least = max(2.0, _PHRASE_SHARE * alone)
    phrases = [(length, count, phrase) for (length, phrase), count in counts.items() if length > 1 and count >= least]
    if phrases:
        return max(phrases)[2]
    return words[term]


def _forms(said: Sequence[Sequence[str]]) -> dict[str, str]:
    """Give each term as it is mostly written, in small letters where it ever is."""
    counts: dict[str, Counter[str]] = {}
    for text in (quote[:MOST_READ] for quotes in said for quote in quotes):
        for match in _words(text).finditer(text):
            if term := _term(match[0]):
                counts.setdefault(term, Counter())[_POSSESSIVE.sub("", match[0])] += 1
    best = {term: max(forms, key=lambda form: (forms[form], form)) for term, forms in counts.items()}
    return {term: form.lower() if form.lower() in counts[term] else form for term, form in best.items()}


@lru_cache(maxsize=1 << 15)
def _term(written: str) -> str:
    """Give a word's stem; nothing for a function word."""
    lower = _POSSESSIVE.sub("", written).lower().replace("’", "'")
    if not _SHORTEST <= len(lower) <= _LONGEST or "'" in lower or lower in STOPWORDS or lower in FUNCTION_WORDS:
        return ""
    return stem(lower)


def reworded(reader: Reader, wing: str, concept: Concept, as_of: datetime | None = None) -> Concept:
    """Label a concept by the events of one wing; the label is empty where these do not name it."""
    members = reader.members([concept.id], as_of=as_of)
    events = reader.fetch([one.seq for one in members])
    seqs = [one.seq for one in members if one.seq in events and events[one.seq].wing == wing]
    read = reader.model_readings(seqs) if seqs else {}
    own = [said_in(events[seq], read[seq][1] if seq in read else None) for seq in seqs]
    found = label_of([one.quotes for one in own], [one.things for one in own], own[0].quotes[0]) if own else Label()
    return replace(concept, **asdict(found), entities=(), strength=strength_of(len(own)), wings=(wing,))
