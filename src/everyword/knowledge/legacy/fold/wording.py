"""What a concept is called: a phrase that its events share and others lack, and one line of their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain

from everyword.knowledge.legacy.fold.moments import MOST_READ, WORD, is_telling, words_of
from everyword.knowledge.legacy.fold.naming import names_well
from everyword.knowledge.legacy.fold.phrases import LONGEST_PHRASE, MOST_KEYS, keyphrases
from everyword.knowledge.legacy.fold.standing import Standing, is_quality, standings, things_of
from everyword.text.terms import stem

LONGEST_LABEL = 60  # characters
LONGEST_DESCRIPTION = 160
MOST_TEXTS = 8  # that a description is made of, the latest
MOST_QUOTED = 400  # characters of each
PAIR_SHARE = 0.5  # of the events with the word that the pair must be in: "pull request" rather than "request"
SECOND_SHARE = 0.5  # of all the events that a second word must be in, beside the first: "survey, staff"
SECOND_COUNTS = 0.3  # how well a second word names things, beside the number of events that have it
SECOND_NAMES = 0.5  # how well it must name things: what is shared by chance is mostly a verb
SPREAD_COUNTS = 0.6  # power of a word's rarity: that many of the events have it matters more
BESIDE_COUNTS = 0.4  # for a description, of an event that has no word of the label: it may belong elsewhere
LONGER_COUNTS = (1.0, 1.5, 1.4)  # phrases by number of words; one of three is often two, or has a verb in it
_BESIDE = ", "  # between the founding word and one that most events have as well
_MOST_TRIED = 6  # words that tell as much as one another


def _never(_: str) -> bool:
    return False


def label_of(
    texts: Sequence[str],
    terms: Iterable[Iterable[str]],
    weights: Mapping[str, float],
    word: str | None = None,
    *,
    is_taken: Callable[[str], bool] = _never,
) -> str:
    """Name what texts share, by a phrase of theirs.

    `terms` are the words of each, no word twice; `weights` says how telling a word is, `word` which it must be.
    """
    held = [frozenset(one) for one in terms]
    counts = Counter(chain.from_iterable(held))
    if not counts:
        return (keyphrases((text, 1.0) for text in texts) or (texts[0][:LONGEST_LABEL],))[0]
    things = Counter(chain.from_iterable(things_of(text[:MOST_READ]) for text in texts))
    top = word if word is not None and word in counts else _most_telling(texts, counts, things, weights, is_taken)
    phrase = _phrase(texts, top, max(2, PAIR_SHARE * counts[top]))
    if phrase is not None:
        return phrase[:LONGEST_LABEL]
    second = _second(top, held, things, is_taken)
    return _BESIDE.join(_form(texts, term) for term in (top, second) if term is not None)[:LONGEST_LABEL]


def turned_around(label: str) -> tuple[str, str | None]:
    """Give the first word of a label, and the label with its two words the other way round; None where it has one."""
    first, beside, second = label.partition(_BESIDE)
    return first, f"{second}{_BESIDE}{first}" if beside else None


def description_of(
    texts: Sequence[str], names: Sequence[str], label: str, *, is_usual: Callable[[str], bool] = _never
) -> tuple[str, tuple[str, ...]]:
    """Give one line in the texts' own words, and the phrases that it is made of: what is said along with the label."""
    own = frozenset(stem(word) for word in label.lower().replace(",", "").split())
    left_out = frozenset(stem(word) for name in names for word in name.lower().split())
    weights: dict[tuple[str, ...], float] = {}
    shown: dict[tuple[str, ...], Counter[str]] = {}
    for text in texts[-MOST_TEXTS:]:
        places = standings(text[:MOST_QUOTED])
        weight = 1.0 if any(one.term in own for one in places) else BESIDE_COUNTS
        for phrase, written in _phrases(places, left_out).items():
            weights[phrase] = weights.get(phrase, 0.0) + weight
            shown.setdefault(phrase, Counter())[written] += 1
    scores = {phrase: round(weight * LONGER_COUNTS[len(phrase) - 1], 6) for phrase, weight in weights.items()}
    chosen: list[tuple[str, ...]] = []
    said: set[str] = set()
    for phrase in sorted(scores, key=lambda phrase: (-scores[phrase], phrase)):
        if len(chosen) == MOST_KEYS:
            break
        if said.isdisjoint(phrase) and not own.issuperset(phrase) and not any(map(is_usual, phrase)):
            chosen.append(phrase)
            said.update(term for term in phrase if term not in own)
    keys = tuple(_mostly(shown[phrase]) for phrase in chosen)
    keys = keys or keyphrases(((text[:MOST_QUOTED], 1.0) for text in texts[-MOST_TEXTS:]), without=tuple(names))
    return ", ".join(keys)[:LONGEST_DESCRIPTION], keys


def worded(texts: Sequence[str], theme: str | None) -> tuple[str, str, tuple[str, ...]]:
    """Word a concept from some texts alone: label, description, keys."""
    read = [words_of(text[:MOST_READ]) for text in texts]
    names = tuple(name for _, found in read for name in found)
    if theme is not None and not theme.startswith(WORD):
        label = theme
    else:
        word = theme[len(WORD) :] if theme is not None else None
        label = label_of(texts, [terms for terms, _ in read], {}, word) if texts else ""
    return label, *description_of(texts, names, label)


def _most_telling(
    texts: Sequence[str],
    counts: Mapping[str, int],
    things: Mapping[str, int],
    weights: Mapping[str, float],
    is_taken: Callable[[str], bool],
) -> str:
    """Choose the word that events which are merely alike are named by: a thing that no other concept is named by."""
    scores = {term: round(count * weights.get(term, 1.0) ** SPREAD_COUNTS, 6) for term, count in counts.items()}
    named = {term: score for term, score in scores.items() if 2 * things[term] >= counts[term]} or scores
    least = max(2, max(counts.values()) / 2)
    free = {term: score for term, score in named.items() if counts[term] >= least and not is_taken(term)} or named
    best = sorted(term for term in free if free[term] == max(free.values()))
    # Of words that tell as much, the one that stands in a phrase: "pull request" says more than "comment".
    return next((term for term in best[:_MOST_TRIED] if _phrase(texts, term, 2) is not None), best[0])


def _phrase(texts: Sequence[str], term: str, least: float) -> str | None:
    """Find the phrase with a word that so many texts have, the longer of two that as many have."""
    counts: Counter[tuple[str, ...]] = Counter()
    shown: dict[tuple[str, ...], Counter[str]] = {}
    for text in texts:
        for phrase, written in _phrases(standings(text[:MOST_READ])).items():
            if term in phrase and len(phrase) > 1:
                counts[phrase] += 1
                shown.setdefault(phrase, Counter())[written] += 1
    best = max(counts, key=lambda phrase: (counts[phrase], len(phrase), phrase), default=None)
    return _mostly(shown[best]) if best is not None and counts[best] >= least else None


def _second(
    top: str, held: Sequence[frozenset[str]], things: Mapping[str, int], is_taken: Callable[[str], bool]
) -> str | None:
    """Find a word that many of the events have besides the first, and that names something."""
    beside = Counter(term for terms in held if top in terms for term in terms if term != top)
    least = max(2, SECOND_SHARE * len(held))
    worth = {
        term: round(count + SECOND_COUNTS * names_well(term), 6)
        for term, count in beside.items()
        if count >= least and names_well(term) >= SECOND_NAMES and 2 * things[term] >= count and not is_taken(term)
    }
    return max(worth, key=lambda term: (worth[term], term), default=None)


def _form(texts: Sequence[str], term: str) -> str:
    """Give a stem as it is mostly written where it names a thing, if it ever does."""
    said = [one for text in texts for one in standings(text[:MOST_READ]) if one.term == term]
    named = Counter(one.word for one in said if one.thing)
    forms = named or Counter(one.word for one in said)
    word = max(forms, key=lambda form: (forms[form], not is_quality(form), form), default=term)
    written = Counter(one.shown for one in said if one.word == word and not one.begins)
    written = written or Counter(one.shown for one in said if one.word == word)
    return _mostly(written) if written else word


def _mostly(forms: Mapping[str, int]) -> str:
    return max(forms, key=lambda form: (forms[form], form))


def _phrases(places: Sequence[Standing], left_out: Set[str] = frozenset()) -> dict[tuple[str, ...], str]:
    """Give the phrases of a text that name things, each by its stems, with how it is written."""
    found: dict[tuple[str, ...], str] = {}
    phrase: list[Standing] = []
    for one in places:
        if not is_telling(one.word) or one.term in left_out:
            phrase = []
            continue
        phrase = [*phrase, one][-LONGEST_PHRASE:] if one.joined else [one]
        if one.thing:
            for start in range(len(phrase)):
                part = phrase[start:]
                found[tuple(each.term for each in part)] = " ".join(each.shown for each in part)
    return found
