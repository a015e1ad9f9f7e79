"""What a concept is called: a phrase that its events share and others lack, and one line of their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from recollect.core.scripts import finder
from recollect.core.words import stem
from recollect.fold.moments import MOST_READ, WORD, words_of
from recollect.fold.naming import names_well
from recollect.fold.phrases import breaks, keyphrases

LONGEST_LABEL = 60  # characters
LONGEST_DESCRIPTION = 160
MOST_TEXTS = 8  # that a description is made of, the latest
MOST_QUOTED = 400  # characters of each
PAIR_SHARE = 0.5  # of the events with the word that the pair must be in: "pull request" rather than "request"
SECOND_SHARE = 0.5  # of all the events that a second word must be in, beside the first: "survey, staff"
SECOND_COUNTS = 0.3  # how well a second word names things, beside the number of events that have it
SECOND_NAMES = 0.5  # how well it must name things: what is shared by chance is mostly a verb
SPREAD_COUNTS = 0.6  # power of a word's rarity: that many of the events have it matters more
_VOCABULARY = 1 << 15  # words that need not be looked at again
_REMEMBERED = 512  # texts: several words of one are tried
_BESIDE = ", "  # between the founding word and one that most events have as well
_MOST_TRIED = 6  # words that tell as much as one another
_words = finder("LETTERS(?:['’-]LETTERS)*")
_POSSESSIVE = re.compile(r"['’]s$")


def _never(_: str) -> bool:
    return False


def label_of(
    texts: Sequence[str],
    terms: Iterable[Iterable[str]],
    weights: Mapping[str, float],
    word: str | None = None,
    *,
    is_usual: Callable[[str], bool] = _never,
) -> str:
    """Name what texts share, by a phrase of theirs.

    `terms` are the words of each, no word twice; `weights` says how telling a word is, `word` which it must be.
    """
    held = [frozenset(one) for one in terms]
    counts = Counter(chain.from_iterable(held))
    if not counts:
        return (keyphrases((text, 1.0) for text in texts) or (texts[0][:LONGEST_LABEL],))[0]
    scores = {term: round(count * weights.get(term, 1.0) ** SPREAD_COUNTS, 6) for term, count in counts.items()}
    best = sorted(term for term in scores if scores[term] == max(scores.values()))
    best = [word] if word in scores else best
    read = {term: _forms(texts, term) for term in best[:_MOST_TRIED]}
    # Of words that tell as much, the one that stands in a pair: "pull request" says more than "comment".
    top = max(read, key=lambda term: max(read[term][0].values(), default=0))
    pairs, forms = read[top]
    pair = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
    if pair is not None and pairs[pair] >= max(2, PAIR_SHARE * counts[top]):
        return _as_written(pair, texts)[:LONGEST_LABEL]
    second = _second(top, held, is_usual)
    if second is not None:
        both = (_form(forms, top, texts), _form(_forms(texts, second)[1], second, texts))
        return _BESIDE.join(both)[:LONGEST_LABEL]
    return _form(forms, top, texts)[:LONGEST_LABEL]


def turned_around(label: str) -> tuple[str, str | None]:
    """Give the first word of a label, and the label with its two words the other way round; None where it has one."""
    first, beside, second = label.partition(_BESIDE)
    return first, f"{second}{_BESIDE}{first}" if beside else None


def description_of(texts: Sequence[str], names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Give one line in the texts' own words, and the phrases that it is made of."""
    keys = keyphrases(((text[:MOST_QUOTED], 1.0) for text in texts[-MOST_TEXTS:]), without=tuple(names))
    return ", ".join(keys)[:LONGEST_DESCRIPTION], keys


def worded(texts: Sequence[str], theme: str | None) -> tuple[str, str, tuple[str, ...]]:
    """Word a concept from some texts alone: label, description, keys."""
    read = [words_of(text[:MOST_READ]) for text in texts]
    names = tuple(name for _, found in read for name in found)
    description, keys = description_of(texts, names)
    word = theme[len(WORD) :] if theme is not None and theme.startswith(WORD) else None
    if theme is not None and word is None:
        return theme, description, keys
    return label_of(texts, [terms for terms, _ in read], {}, word) if texts else "", description, keys


def _second(top: str, held: Sequence[frozenset[str]], is_usual: Callable[[str], bool]) -> str | None:
    """Find a word that many of the events have besides the first, and that names something."""
    beside = Counter(term for terms in held if top in terms for term in terms if term != top)
    least = max(2, SECOND_SHARE * len(held))
    worth = {
        term: round(count + SECOND_COUNTS * names_well(term), 6)
        for term, count in beside.items()
        if count >= least and names_well(term) >= SECOND_NAMES and not is_usual(term)
    }
    return max(worth, key=lambda term: (worth[term], term), default=None)


def _form(forms: Mapping[str, int], term: str, texts: Sequence[str]) -> str:
    """Give a stem as it is mostly written."""
    return _as_written(max(forms, key=lambda form: (forms[form], form), default=term), texts)


def _forms(texts: Sequence[str], top: str) -> tuple[Counter[str], Counter[str]]:
    """Count the pairs of words around a stem, and the forms in which it is written."""
    pairs: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    for text in texts:
        words, stems = _words_and_stems(text[:MOST_READ])
        if top not in stems:
            continue
        forms.update(word for word, stemmed in zip(words, stems, strict=True) if stemmed == top)
        found = {
            f"{one} {other}"
            for one, other, first, second in zip(words, words[1:], stems, stems[1:], strict=False)
            if top in (first, second) and first != second and not (breaks(one) or breaks(other))
        }
        pairs.update(found)
    return pairs, forms


def _as_written(label: str, texts: Sequence[str]) -> str:
    """Give each word of a label a capital where texts never write it without: it is a name."""
    written = {word for text in texts for word in _words(text).findall(text[:MOST_READ])}
    plain = {_POSSESSIVE.sub("", word) for word in written}
    return " ".join(
        word if word in plain or word.capitalize() not in plain else word.capitalize() for word in label.split(" ")
    )


@lru_cache(maxsize=_REMEMBERED)
def _words_and_stems(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    read = [_word_and_stem(word) for word in _words(text).findall(text)]
    return tuple(word for word, _ in read), tuple(stemmed for _, stemmed in read)


@lru_cache(maxsize=_VOCABULARY)
def _word_and_stem(written: str) -> tuple[str, str]:
    word = _POSSESSIVE.sub("", written).lower().replace("’", "'")
    return word, stem(word)
