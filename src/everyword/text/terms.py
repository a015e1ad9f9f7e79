"""Terms of the lexical index: tokenise, fold, stem and hash words.

The script of a word chooses its stemmer: Ukrainian is stemmed as Russian, Persian as Arabic, whose endings are similar.
Words in Latin letters are stemmed as English.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from typing import Any, Protocol, cast

from everyword.lazy_patterns import lazy_pattern
from everyword.types.events import Event
from everyword.types.graph import folded

Stemming = Callable[[str], str]

# Scripts written without spaces between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003134f"
)
# Vowel signs and accents that belong to words, although Python's \w does not match them.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0900-\u0963\u0966-\u096f\u0971-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0f87\u102b-\u103e\u1056-\u1059"
    "\u135d-\u135f\u17b4-\u17d3\u18a9\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ufe20-\ufe2f"
)
_JOINER = "\u200d"
_SKINS = range(0x1F3FB, 0x1F400)  # skin tones, which follow their emoji
_LONGEST_CHARACTER = 32  # code points; a family of four with its skin tones has eleven
_LONGEST_STEMMED = 40  # characters; longer tokens are not words, and stemming a megabyte is slow
_KEPT_CLASSES = frozenset({0, 9})  # combining classes of vowel signs and of the virama
_BREVE = "\u0306"  # й is another letter than и
_HEBREW_PREFIXES = "והבכלמש"  # "and", "the", "in" ... are prefixes of the word
_HEBREW_PLURALS = ("ים", "ות")
_LEAST_LEFT = 3  # letters that must remain of a word
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_ALONE = rf"(?<![{_HAN}])[{_HAN}](?![{_HAN}])"
_NOUN_AND_PARTICLE = (
    r"([\uac00-\ud7a3])(?:은|는|이|가|을|를|에|의|도|로|와|과|만|에서|에게|으로|까지|부터|이랑|하고|이나|보다)"
)
# Stop words of Greek, Russian and Ukrainian, Arabic, Hebrew, Hindi.
FUNCTION_WORDS = frozenset(
    """
    ο η το οι τα του της των τον την τη στο στη στην στον στους στις στα και να με για από σε που πού πώς πότε
    ποιος ποια ποιο ποιοι ποιες τι είναι ήταν έχει έχω δεν θα μου σου μας σας ένα ένας μια μία αυτό ή αν ως
    γιατί πόσο
    и в во на с со к ко у о об от до за из по не но а же ли бы то это этот эта что чем как где когда кто кого
    кому какой какая какое какие каком какую куда откуда почему зачем сколько чей я ты он она оно мы вы они мой
    моя моё мои мне меня его её их наш ваш был была было были есть для или та те і й що де коли хто який яка
    чому скільки є
    في من إلى على عن مع هل ما ماذا متى أين كيف لماذا كم أي هو هي هم أنا أنت نحن هذا هذه ذلك التي الذي كان كانت و
    أو ثم قد لا لم لن إن أن
    של את על עם אל מה מי מתי איפה היכן איך למה מדוע כמה איזה איזו באיזה באיזו לאיזה מאיזה הוא היא הם הן אני אתה
    אנחנו זה זאת זו היה הייתה היו יש אין לא כן גם או כי אם
    का की के को में से पर ने है हैं था थी थे हो होगा होगी क्या कौन कब कहाँ कहां कैसे क्यों किस किसने कितना कितने
    कौनसा और या कि यह वह ये वे मैं हम तुम आप मेरा मेरी मेरे हमारा उसका उसकी इसका अपना अपनी अपने तक भी ही नहीं तो
    """.split()
)
_per_thread = threading.local()


def bare(word: str) -> str:
    """Casefold a word, remove optional accents and vowel points, and convert digits to ASCII."""
    if word.isascii():
        return word.casefold()
    letters = [
        char
        for char in unicodedata.normalize("NFD", word.casefold())
        if char == _BREVE or unicodedata.combining(char) in _KEPT_CLASSES
    ]
    joined = unicodedata.normalize("NFC", "".join(letters))
    return "".join(str(unicodedata.decimal(char, char)) for char in joined)


def finder(pattern: str) -> Callable[[str], re.Pattern[str]]:
    """Return a function that gives the pattern for a text.

    `LETTERS` in the pattern stands for letters with their marks, `ALNUM` for letters and digits.
    """
    plain = lazy_pattern(pattern.replace("LETTERS", r"[^\W\d_]++").replace("ALNUM", r"[^\W_]++"))

    @cache  # compiled when first needed: the marks take five milliseconds, and most texts have none
    def marked() -> re.Pattern[str]:
        # Possessive, since whole blocks of Indian scripts are among the marks.
        marks = rf"(?:[{MARKS}]++[^\W\d_]*+)*+", rf"(?:[{MARKS}]++[^\W_]*+)*+"
        letters, digits = rf"[^\W\d_]++{marks[0]}", rf"[^\W_]++{marks[1]}"
        return re.compile(pattern.replace("LETTERS", letters).replace("ALNUM", digits))

    return lambda text: plain if _is_latin(text) else marked()


def count_unspaced(text: str) -> int:
    """Count the characters of scripts without spaces between words."""
    return 0 if _is_latin(text) else len(_compiled(_IS_UNSPACED).findall(text))


def _is_latin(text: str) -> bool:
    """Tell whether a text has only Latin letters and punctuation, so that it needs no long classes of characters."""
    return text.isascii() or _BEYOND_LATIN.search(text) is None


def whole_until(text: str, end: int) -> int:
    """Move a cut back so that it separates no accent from its letter and splits no emoji."""
    least = max(0, end - _LONGEST_CHARACTER)
    while least < end < len(text) and (_continues(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return end


def shortened(text: str, most: int) -> str:
    """Cut a text to a number of characters, ending in an ellipsis."""
    return text if len(text) <= most else text[: whole_until(text, most - 1)].rstrip() + "…"


def well_formed(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def count_of(count: int, thing: str) -> str:
    """Write a number of things, with the noun in its singular or plural."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _continues(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char)[0] == "M" or ord(char) in _SKINS


def stemmer_of(word: str) -> Stemming | None:
    """Return the stemmer for the script of a word's first letter; None for Latin and unknown scripts."""
    first = ord(word[0])
    for start, end, stemming in _SCRIPTS:
        if start <= first <= end:
            return stemming
    return None


def holds_alone(run: str) -> list[str]:
    """List the characters of an unspaced run that are words by themselves: 傘 of 花子の傘, 책 of 책을."""
    noun = _compiled(_NOUN_AND_PARTICLE).fullmatch(run)
    return [noun[1]] if noun else _compiled(_HAN_ALONE).findall(run)


_compiled = cache(re.compile)


def _hebrew(word: str) -> str:
    if word[0] in _HEBREW_PREFIXES and len(word) > _LEAST_LEFT:
        word = word[1:]
    if word.endswith(_HEBREW_PLURALS) and len(word) - 2 >= _LEAST_LEFT:
        word = word[:-2]
    return word


def snowball(language: str) -> Stemming:
    """Return the Snowball stemmer of a language."""

    def stemmed(word: str) -> str:
        return word if len(word) > _LONGEST_STEMMED else _stemmer(language).stemWord(word)

    return stemmed


def _stemmer(language: str) -> _Stemmer:
    # One for each thread: a Snowball stemmer is not thread-safe.
    stemmer: _Stemmer | None = getattr(_per_thread, language, None)
    if stemmer is None:
        made: Any = import_module("Stemmer")  # has no type stubs
        stemmer = cast(_Stemmer, made.Stemmer(language))
        setattr(_per_thread, language, stemmer)
    return stemmer


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_SCRIPTS = (
    (0x0370, 0x03FF, snowball("greek")),
    (0x1F00, 0x1FFF, snowball("greek")),
    (0x0400, 0x052F, snowball("russian")),
    (0x0531, 0x058F, snowball("armenian")),
    (0x0590, 0x05FF, _hebrew),
    (0x0600, 0x077F, snowball("arabic")),
    (0x0900, 0x097F, snowball("hindi")),
    (0x0B80, 0x0BFF, snowball("tamil")),
)


# Increase it when the same text gives other terms; `settle` and `forget` then reindex. Until then old and new terms
# are mixed, so a new version may only add terms.
ANALYSIS_VERSION = 2

# Of scripts with spaces; in other scripts a run includes its marks.
_WORD_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
)
_TOKEN = r"LETTER+(?:[-'’.,@:/+#&_]+LETTER+)*(?:\+\+|\#)?"
_PART = "LETTER+"
_LATIN_LETTER = r"[^\W_]"
_LETTER = rf"(?:[^\W_{UNSPACED}]|[{_WORD_MARKS}])"
_IS_UNSPACED = rf"[{UNSPACED}]"
# Neither a Latin letter nor punctuation: all marks and all unspaced scripts are among these.
_BEYOND_LATIN = lazy_pattern("[^\0-\u02ff\u2000-\u20cf\u2100-\u2bff]")
# The same as _TOKEN for plain ASCII, three times as fast.
_ASCII_TOKEN = lazy_pattern(r"[A-Za-z0-9]+(?:[-'.,@:/+#&_]+[A-Za-z0-9]+)*(?:\+\+|\#)?")
# Words within a word: parseUserConfig, HTTPServer. At least three letters, so that LinkedIn and McGee stay whole.
_HUMP = lazy_pattern(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])|[A-Z]{3,}(?=[A-Z][a-z])")
_HUMPED = lazy_pattern(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{3,}(?=[A-Z][a-z]))(?:[A-Z][a-z]{2,}|[A-Z]{3,}(?![a-z]))+")
_VERSION = lazy_pattern(r"v\d+(?:\.\d+)+\S*")
_UNSEEN = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
_GROUPED_NUMBER = lazy_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")

_CACHED_PIECES = 1 << 17  # a vocabulary with its punctuation
_LONGEST_CACHED = 100  # characters; a longer piece is data, not a word that recurs

STOPWORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing done don down during each else ever few for from further get got had has have having he her here
    hers him his how i if in into is it its just let me more most my no nor not now of off on once only or other our out
    over own please s same she should so some such t tell than that the their them then there these they this those
    through to too under until up us very was we were what when where which while who whom whose why will with would
    you your yours d ll m re ve""".split()
).union(FUNCTION_WORDS, map(bare, FUNCTION_WORDS))


def searchable_terms(event: Event) -> Counter[int]:
    """Count the terms of an event: its words and its speaker's name."""
    return term_counts(event.text, event.speaker or "")


def term_counts(*texts: str) -> Counter[int]:
    """Count the terms of texts as the index keeps them."""
    # No token contains white space, and the same few thousand pieces between it recur.
    pieces = chain.from_iterable(_normal(text).split() for text in texts)
    return Counter(chain.from_iterable(map(_piece_terms, pieces)))


def question_terms(text: str) -> Counter[int]:
    """Count the terms of a question, without stop words unless there is nothing else."""
    kept: Counter[int] = Counter()
    everything: Counter[int] = Counter()
    for token in _tokens(text):
        terms = _question_token_terms(token)
        everything.update(terms)
        if token.lower().replace("’", "'") not in STOPWORDS and token.lower().split("'")[0] not in STOPWORDS:
            kept.update(terms)
    return kept or everything


@cache
def stop_terms() -> frozenset[int]:
    """Give the terms of stop words, which a question of nothing else has."""
    return frozenset(term for word in STOPWORDS for term in question_terms(word))


@lru_cache(maxsize=_CACHED_PIECES)
def stem(word: str) -> str:
    """Fold and stem a word, as the index does."""
    return _english(_fold(word))


def _normal(text: str) -> str:
    return text if text.isascii() else _compiled(_UNSEEN).sub("", unicodedata.normalize("NFKC", text))


def _tokens(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    normal = _normal(text)
    return _of_letters(_TOKEN, normal).findall(normal)


def _of_letters(pattern: str, text: str) -> re.Pattern[str]:
    """Compile a pattern for the letters of a text; those beyond Latin take ten milliseconds, and few texts have any."""
    if _is_latin(text):
        return _compiled(pattern.replace("LETTER", _LATIN_LETTER))
    return _compiled(f"[{UNSPACED}]+|{pattern.replace('LETTER', _LETTER)}")


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
def _question_token_terms(token: str) -> tuple[int, ...]:
    # Most texts hold single characters of unspaced scripts, so they are searched only if asked for alone.
    if _unspaced(token) and len(token) > 1:
        return tuple(map(_hash, [*_pairs(token), *holds_alone(token)]))
    return _token_terms(token)


def _spaced_terms(token: str) -> tuple[int, ...]:
    if token.isascii() and token.isalnum():
        return tuple(map(_hash, [*_forms(token), *_humps(token)]))
    parts: list[str] = _of_letters(_PART, token).findall(token)
    forms = [form for part in parts for form in (*_forms(part), *_humps(part))]
    whole = _fold(token)
    if len(parts) > 1 or whole != _fold(parts[0]):
        if _GROUPED_NUMBER.fullmatch(whole):
            whole = whole.replace(",", "")
            if whole.isdigit():  # 1,200 is 1200, a token of one part
                return tuple(map(_hash, [*forms, whole]))
        if whole.endswith("'s"):
            return tuple(map(_hash, forms[:-1] if forms[-1] == "s" else forms))
        forms.append("=" + whole)
        if _VERSION.fullmatch(whole):  # v2.3.1 is also called 2.3.1
            forms.append("=" + whole[1:])
    return tuple(map(_hash, forms))


def _forms(part: str) -> list[str]:
    plain = _fold(part)
    if not plain.isascii() and (cut := stemmer_of(plain)) is not None and (letters := bare(part)):  # or marks alone
        other = cut(letters)
        return [plain] if other == plain else [plain, other]
    stem = _english(plain)
    if stem == plain or (part == plain and part.isalpha()):
        return [stem]
    return [stem, "=" + plain] if part[:1].isupper() or not part.isalpha() else [stem]


def _humps(part: str) -> list[str]:
    """List the words of an identifier in camel case."""
    if part.islower() or part.istitle() or not _HUMPED.fullmatch(part):
        return []
    humps = [hump.lower() for hump in _HUMP.findall(part)]
    return [_english(hump) for hump in humps if hump not in STOPWORDS]


def _fold(word: str) -> str:
    return word.casefold() if word.isascii() else folded(word.replace("’", "'"))


def _unspaced(token: str) -> bool:
    return token[0] >= UNSPACED[0] and _compiled(_IS_UNSPACED).match(token) is not None


_english = snowball("english")


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _hash(form: str) -> int:
    data = form.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), signed=True)
