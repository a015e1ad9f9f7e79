"""Keyphrases by simple rules: runs of content words that come again, and that other texts do not have."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from everyword.text.terms import STOPWORDS, finder

MOST_KEYS = 5
LONGEST_PHRASE = 3  # words
LONGER_COUNTS_MORE = (1.0, 1.5, 1.7)  # by number of words: two words say more than one, three hardly more than two
RARE_ENOUGH = 1e-4  # share of texts: what is rarer than one in ten thousand is not more telling still
MANY_TIMES = 0.7  # the power of the count: the tenth time says less than the second
COMMON_COST = 0.35  # a word of every talk, within a phrase

Frequency = Callable[[str], float]  # the share of texts, 0 to 1, in which a word stands

# Words of every talk, in small letters: they end a phrase, or make no key.
COMMON_WORDS = frozenset(
    """able absolutely actually again almost already always amazing appreciate anyway anymore around ask asked asking
    awesome away back bad believe best better big bit bring bye call called came care chance check come comes coming
    congrats cool could course day days deal definitely did different does doing done else end enjoy especially even
    ever every everyone everything exactly excited excellent far feel feeling feels felt few find fine first found fun
    gave get gets getting give given gives giving glad goes going gonna good got gotten great guess haha had happen
    happened happy hard hear heard hello help helped helping helps here hey hi hope hoping huge idea incredible inspire
    interesting it's keep keeps kind knew know knows last lately later least leave left less let lets like liked likes
    little lol long look looked looking looks lot lots love loved loves made make makes making many maybe mean means
    meant might mine moment more morning much must need needed needs never new next nice nothing often oh okay old one
    ones open part people perfect perhaps person place plan plans please plus point pretty probably put quite rather
    read really reason recently remember right said same saw say saying says see seeing seem seems seen share should
    show side since small soon sorry sound sounds special start started still stuff such super support sure take taken
    takes taking talk tell thank thanks thing things think thinking thought thoughts three time times today together
    told tomorrow tonight took totally tough tried true truly try trying turn two unique use used using usually want
    wanted wants watch way ways week weeks well went what's whole wish without wonder wonderful wondering word words
    work worked working works world worth would wow yeah year years yep yes yesterday yet you're i'm i've i'll i'd
    don't didn't doesn't can't won't isn't that's there's let's we're they're it'll wasn't couldn't haven't monday
    tuesday wednesday thursday friday saturday sunday january february march april june july august september october
    november december ago bought buy finally also feel add added keep kept let made met move moved decide decided gone
    both another something someone anything anyone nobody somebody whether though although until while during within
    across along however instead either neither several per via etc ok bye ask answer question questions great-to
    provide include includes including consider considering ensure based such example certain various options option
    additionally specific tips here's myself
    ourselves yourself themselves himself herself itself others lots totally gonna wanna gotta""".split()
)
_BREAKING = STOPWORDS | COMMON_WORDS
_POSSESSIVE = ("'s", "’s")
_pieces = finder(r"ALNUM(?:['’-]ALNUM)*|[^\w\s]+|\n")
_CONTRACTED = re.compile(r"\w+'(?:t|ve|re|ll|d|m|em|all|know)", re.IGNORECASE)  # "must've" names nothing; "o'clock" may
_SHORTEST_ALONE = 4  # letters of a key of one word
_LONGEST_WORD = 40  # characters
_VOCABULARY = 1 << 15  # words that need not be looked at again
_NO_WORD = ("", "", "")
_REMEMBERED = 1024  # texts: the sentences of the sessions that are going on, read again whenever those have grown


def keyphrases(
    texts: Iterable[tuple[str, float]], *, frequency: Frequency | None = None, without: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Give up to five phrases that tell what texts are about, the most telling first; each text has a weight."""
    left_out = frozenset(word for name in without for word in name.lower().split())
    weights: dict[tuple[str, ...], float] = {}
    shown: dict[tuple[str, ...], dict[str, int]] = {}
    for text, weight in texts:
        for phrase, written in _phrases(text, left_out).items():
            weights[phrase] = weights.get(phrase, 0.0) + weight
            spellings = shown.setdefault(phrase, {})
            spellings[written] = spellings.get(written, 0) + 1
    telling = _telling(frequency)
    scores = {phrase: _score(phrase, weight, telling) for phrase, weight in weights.items()}
    chosen: list[tuple[str, ...]] = []
    for phrase in sorted(scores, key=lambda phrase: (-scores[phrase], phrase)):
        if len(chosen) == MOST_KEYS:
            break
        if not any(set(phrase) & set(other) for other in chosen):
            chosen.append(phrase)
    return tuple(min(shown[phrase], key=lambda text: (-shown[phrase][text], text)) for phrase in chosen)


@lru_cache(maxsize=_REMEMBERED)
def _phrases(text: str, left_out: frozenset[str]) -> dict[tuple[str, ...], str]:
    """Cut a text at stop words and marks; give every part of what is left that has up to three words."""
    found: dict[tuple[str, ...], str] = {}
    words: list[str] = []
    ones: list[str] = []
    for piece in [*_pieces(text).findall(text), "."]:
        word, lower, one = _read(piece) if len(piece) <= _LONGEST_WORD + len(_POSSESSIVE[0]) else _NO_WORD
        if not lower or lower in left_out:
            if words:
                found.update(_parts(words, ones))
                words, ones = [], []
        else:
            words.append(word)
            ones.append(one)
    return found


@lru_cache(maxsize=_VOCABULARY)
def _read(piece: str) -> tuple[str, str, str]:
    """Give a piece as a word, in small letters, and in the singular; nothing where it ends a phrase."""
    word = piece[:-2] if piece.endswith(_POSSESSIVE) else piece
    lower = word.lower().replace("’", "'")
    if not word[0].isalpha() or breaks(lower) or lower.endswith("ly") or len(word) > _LONGEST_WORD:
        return _NO_WORD
    return word, lower, _singular(word.lower())


def breaks(word: str) -> bool:
    """Tell whether a word, in small letters, ends a phrase: it is of every talk, or two words in one."""
    return word in _BREAKING or _CONTRACTED.fullmatch(word) is not None


def _parts(words: list[str], ones: list[str]) -> Iterable[tuple[tuple[str, ...], str]]:
    for start, first in enumerate(words):
        if len(first) >= _SHORTEST_ALONE or first.isupper():
            yield (ones[start],), first
        for end in range(start + 2, min(len(words), start + LONGEST_PHRASE) + 1):
            yield tuple(ones[start:end]), " ".join(words[start:end])


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _telling(frequency: Frequency | None) -> Callable[[str], float]:
    if frequency is None:
        return lambda word: COMMON_COST if word.endswith("ing") else 1.0
    return lambda word: -math.log(min(1.0, max(RARE_ENOUGH, frequency(word)))) / -math.log(RARE_ENOUGH)


def _score(phrase: tuple[str, ...], weight: float, telling: Callable[[str], float]) -> float:
    rare = sum(map(telling, phrase)) / len(phrase)
    return round(weight**MANY_TIMES * rare * LONGER_COUNTS_MORE[len(phrase) - 1], 9)
