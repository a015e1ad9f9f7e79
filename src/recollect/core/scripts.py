"""Words in other alphabets than ours: what they are without their points and accents, and without their endings.

A letter tells its script, and a script its language, or a near one whose endings are much the same: Ukrainian is cut as
Russian, Persian as Arabic. Words in Latin letters can't be told apart so, and are cut as English.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

Stemming = Callable[[str], str]

# Scripts written without spaces between words: a run of them has no word boundaries to cut at.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003134f"
)
# Vowel signs and accents that Python's \w leaves out although they are part of a word.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0900-\u0963\u0966-\u096f\u0971-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0f87\u102b-\u103e\u1056-\u1059"
    "\u135d-\u135f\u17b4-\u17d3\u18a9\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ufe20-\ufe2f"
)
_JOINER = "\u200d"
_SKINS = range(0x1F3FB, 0x1F400)  # colours of skin, behind the emoji that they are of
_LONGEST_CHARACTER = 32  # code points; a family of four with its skin tones has eleven
_LONGEST_STEMMED = 40  # characters; what is longer is no word, and stemming a megabyte is slow
_KEPT_CLASSES = frozenset({0, 9})  # of combining characters: vowel signs, and what takes a vowel away
_BREVE = "\u0306"  # й is no и
_HEBREW_PREFIXES = "והבכלמש"  # "and", "the", "in" ... are written with the word
_HEBREW_PLURALS = ("ים", "ות")
_LEAST_LEFT = 3  # letters of a word without them
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_ALONE = rf"(?<![{_HAN}])[{_HAN}](?![{_HAN}])"
_NOUN_AND_PARTICLE = (
    r"([\uac00-\ud7a3])(?:은|는|이|가|을|를|에|의|도|로|와|과|만|에서|에게|으로|까지|부터|이랑|하고|이나|보다)"
)
# Words that say little, where letters tell the language: of Greek, Russian and Ukrainian, Arabic, Hebrew, Hindi.
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
    """Take off what is written or left out at will: accents, vowel points, dots below; figures become ours."""
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
    """Give what finds words in a text; `LETTERS` in the pattern are letters, `ALNUM` digits too, with their marks."""
    plain = re.compile(pattern.replace("LETTERS", r"[^\W\d_]++").replace("ALNUM", r"[^\W_]++"))

    @cache  # compiled when first needed: the marks take five milliseconds, and most texts are ASCII
    def marked() -> re.Pattern[str]:
        # Possessive, since whole blocks of Indian scripts are among the marks.
        marks = rf"(?:[{MARKS}]++[^\W\d_]*+)*+", rf"(?:[{MARKS}]++[^\W_]*+)*+"
        letters, digits = rf"[^\W\d_]++{marks[0]}", rf"[^\W_]++{marks[1]}"
        return re.compile(pattern.replace("LETTERS", letters).replace("ALNUM", digits))

    return lambda text: plain if text.isascii() else marked()


def whole_until(text: str, end: int) -> int:
    """Move a cut back so that it goes through no character: neither between letter and accent, nor within an emoji."""
    least = max(0, end - _LONGEST_CHARACTER)
    while least < end < len(text) and (_continues(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return end


def shortened(text: str, most: int) -> str:
    """Cut a text to so many characters, the last of which says so."""
    return text if len(text) <= most else text[: whole_until(text, most - 1)].rstrip() + "…"


def _continues(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char)[0] == "M" or ord(char) in _SKINS


def stemmer_of(word: str) -> Stemming | None:
    """Give what cuts the endings of a word off, by the script of its first letter; None for Latin and unknown ones."""
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
    """Give what cuts the endings of a language off."""

    def stemmed(word: str) -> str:
        return word if len(word) > _LONGEST_STEMMED else _stemmer(language).stemWord(word)

    return stemmed


def _stemmer(language: str) -> _Stemmer:
    # One a thread: a Snowball stemmer keeps its work in itself.
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
