"""Words: how text becomes the terms of the lexical index, and a question the terms to look for.

A term is a 64-bit hash. No word is stored in the index, so that forgetting an event leaves none of its words behind,
and a posting needs no dictionary. With a million distinct terms the chance of any collision is about 3 in 100 million.

- English words are stemmed (Snowball). A word with a capital or a digit also keeps its exact form, so that Mr Banks is
  found ahead of banks.
- What is written together is kept whole beside its parts: jean-luc, v2.3.1, parseConfig, ana@example.org, 1,200.
- Accents are folded in alphabetic scripts, on both sides: café and cafe are one term.
- Words in other alphabets keep their form beside their stem (core/scripts.py): the script tells the language.
- Scripts without spaces (Chinese, Japanese, Korean, Thai ...) become overlapping pairs of characters.
- What can't be seen is left out: soft hyphens, joiners, marks of direction, variants of a character.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from itertools import chain

from recollect.core.scripts import FUNCTION_WORDS, UNSPACED, bare, holds_alone, snowball, stemmer_of
from recollect.core.values import Event

# Changes whenever the same text would give other terms; `settle` and `forget` index anew what an older one indexed.
# Until then old and new terms lie side by side: a version keeps those of the one before where it adds others.
ANALYSIS_VERSION = 2

# Those of scripts with spaces: the others are in their runs.
_WORD_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
)
_LETTER = rf"(?:[^\W_{UNSPACED}]|[{_WORD_MARKS}])"
# Compiled when first needed: the classes above take ten milliseconds, and most texts are ASCII.
_TOKEN = rf"[{UNSPACED}]+|{_LETTER}+(?:[-'’.,@:/+#&_]+{_LETTER}+)*(?:\+\+|\#)?"
_PART = rf"{_LETTER}+"
_IS_UNSPACED = rf"[{UNSPACED}]"
# The same as _TOKEN for plain ASCII, three times as fast.
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[-'.,@:/+#&_]+[A-Za-z0-9]+)*(?:\+\+|\#)?")
# Words within a word: parseUserConfig, HTTPServer. Of three letters at least, so that LinkedIn and McGee stay whole.
_HUMP = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])|[A-Z]{3,}(?=[A-Z][a-z])")
_HUMPED = re.compile(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{3,}(?=[A-Z][a-z]))(?:[A-Z][a-z]{2,}|[A-Z]{3,}(?![a-z]))+")
_VERSION = re.compile(r"v\d+(?:\.\d+)+\S*")
_UNSEEN = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
_GROUPED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")

_FOLDED_BELOW = 0x0530  # Latin, Greek, Cyrillic: beyond them a combining mark makes another letter
_NO_DECOMPOSITION = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe"})
_CACHED_PIECES = 1 << 17  # a vocabulary with its punctuation; beyond it, words are analysed again
_LONGEST_CACHED = 100  # characters; a longer piece is data, not a word that comes again

STOPWORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing done don down during each else ever few for from further get got had has have having he her here
    hers him his how i if in into is it its just let me more most my no nor not now of off on once only or other our out
    over own please s same she should so some such t tell than that the their them then there these they this those
    through to too under until up us very was we were what when where which while who whom whose why will with would
    you your yours d ll m re ve""".split()
).union(FUNCTION_WORDS, map(bare, FUNCTION_WORDS))


def searchable_terms(event: Event) -> Counter[int]:
    """Count the terms that an event is found by: its words and its speaker's name."""
    return term_counts(event.text, event.speaker or "")


def term_counts(*texts: str) -> Counter[int]:
    """Count the terms of texts as the index keeps them."""
    # No token goes across white space, and the same few thousand pieces between it come again and again.
    pieces = chain.from_iterable(_normal(text).split() for text in texts)
    return Counter(chain.from_iterable(map(_piece_terms, pieces)))


def question_terms(text: str) -> Counter[int]:
    """Count the terms to look for: without stop words, unless there is nothing else."""
    kept: Counter[int] = Counter()
    everything: Counter[int] = Counter()
    for token in _tokens(text):
        terms = _asked_terms(token)
        everything.update(terms)
        if token.lower().replace("’", "'") not in STOPWORDS and token.lower().split("'")[0] not in STOPWORDS:
            kept.update(terms)
    return kept or everything


@lru_cache(maxsize=_CACHED_PIECES)
def stem(word: str) -> str:
    """Fold a word and cut its ending off, as the index does."""
    folded = _fold(word)
    return _english(folded)


def _normal(text: str) -> str:
    return text if text.isascii() else _compiled(_UNSEEN).sub("", unicodedata.normalize("NFKC", text))


def _tokens(text: str) -> list[str]:
    return _ASCII_TOKEN.findall(text) if text.isascii() else _compiled(_TOKEN).findall(_normal(text))


def _piece_terms(piece: str) -> tuple[int, ...]:
    return _known_piece(piece) if len(piece) <= _LONGEST_CACHED else _analysed_piece(piece)


def _analysed_piece(piece: str) -> tuple[int, ...]:
    return tuple(chain.from_iterable(map(_token_terms, _tokens(piece))))


_known_piece = lru_cache(maxsize=_CACHED_PIECES)(_analysed_piece)


def _token_terms(token: str) -> tuple[int, ...]:
    if _unspaced(token):
        return tuple(map(_hash, [*token, *_pairs(token)]))
    return _spaced_terms(token)


@lru_cache(maxsize=4096)
def _asked_terms(token: str) -> tuple[int, ...]:
    # Single characters of unspaced scripts are in most texts; they are looked for only when asked for alone.
    if _unspaced(token) and len(token) > 1:
        return tuple(map(_hash, [*_pairs(token), *holds_alone(token)]))
    return _token_terms(token)


def _spaced_terms(token: str) -> tuple[int, ...]:
    if token.isascii() and token.isalnum():
        return tuple(map(_hash, [*_forms(token), *_humps(token)]))
    parts: list[str] = _compiled(_PART).findall(token)
    forms = [form for part in parts for form in (*_forms(part), *_humps(part))]
    whole = _fold(token)
    if len(parts) > 1 or whole != _fold(parts[0]):
        if _GROUPED_NUMBER.fullmatch(whole):
            whole = whole.replace(",", "")
            if whole.isdigit():  # 1,200 is 1200, which is a word of one part
                return tuple(map(_hash, [*forms, whole]))
        if whole.endswith("'s"):
            return tuple(map(_hash, forms[:-1] if forms[-1] == "s" else forms))
        forms.append("=" + whole)
        if _VERSION.fullmatch(whole):  # v2.3.1 is also called 2.3.1
            forms.append("=" + whole[1:])
    return tuple(map(_hash, forms))


def _forms(part: str) -> list[str]:
    folded = _fold(part)
    if not folded.isascii() and (cut := stemmer_of(folded)) is not None:
        other = cut(bare(part))
        return [folded] if other == folded else [folded, other]
    stem = _english(folded)
    if stem == folded or (part == folded and part.isalpha()):
        return [stem]
    return [stem, "=" + folded] if part[:1].isupper() or not part.isalpha() else [stem]


def _humps(part: str) -> list[str]:
    """List the words of an identifier that is written as one."""
    if part.islower() or part.istitle() or not _HUMPED.fullmatch(part):
        return []
    humps = [hump.lower() for hump in _HUMP.findall(part)]
    return [_english(hump) for hump in humps if hump not in STOPWORDS]


def _fold(word: str) -> str:
    word = word.casefold().replace("’", "'")
    if word.isascii():
        return word
    letters: list[str] = []
    for char in unicodedata.normalize("NFKD", word):
        if unicodedata.combining(char) and letters and ord(letters[-1][-1]) < _FOLDED_BELOW:
            continue
        letters.append(char)
    return unicodedata.normalize("NFC", "".join(letters).translate(_NO_DECOMPOSITION))


def _unspaced(token: str) -> bool:
    return not token.isascii() and _compiled(_IS_UNSPACED).match(token) is not None


_compiled = cache(re.compile)
_english = snowball("english")


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _hash(form: str) -> int:
    data = form.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), signed=True)
